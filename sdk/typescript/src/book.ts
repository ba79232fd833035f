import { fromBase64, sha256, utf8 } from "./encoding.js";
import { Documents } from "./documents.js";
import { FileError } from "./errors.js";
import { readPrivate, writePrivate } from "./files.js";
import { canonical, isObject, type Json, type JsonObject } from "./json.js";
import { lockFile } from "./lock.js";
import { nodeModule } from "./platform.js";
import { follow, type Link, linkIn, type Mark, newest } from "./follow.js";
import type { KnownCall, ReceiptProblem } from "./receipt.js";

const EXTENSION = ".jsonl";
/** The maximum size of a file, in bytes, and the maximum number of files. A new file begins when one is full, and the oldest is removed. */
const MAX_FILE = 16 << 20;
const MAX_FILES = 8;
const MAX_LINE = 1 << 20;
/** The bytes at the end of a file that are searched for earlier records. */
const MAX_TAIL = 64 << 10;
const MAX_RECEIPT = 16 << 10;
const KEYS = '{"type":"keys"';

/** Records are short, so a synchronous write takes less time than an asynchronous one. */
type Fs = typeof import("node:fs");

/** A line at the end of a file. */
interface Line {
  bytes: number;
  link: Link | undefined;
  /** The keys in canonical form; empty if the record has none. */
  keys: string;
}

/** The end of a file as this process has last read or written it. */
interface End {
  ino: number;
  size: number;
  lines: Line[];
}

/** A call as a book records it. */
export interface RecordedCall extends KnownCall {
  intent: string;
}

/**
 * The receipts of one agent and one service, in the files that `uimgate agent receipts` reads. Each line is a record. All processes of the
 * agent may write at the same time. A killed process leaves at most an incomplete last line, which the next one removes. Errors:
 * FileError, and OptionsError outside Node.js.
 */
export class Book {
  /** The agreements and policies that the receipts name. */
  readonly documents: Documents;
  #end: End | undefined;

  private constructor(
    readonly path: string,
    private readonly most: number,
  ) {
    this.documents = new Documents(`${path.slice(0, -EXTENSION.length)}.documents`);
  }

  /** Returns the book of an agent in a directory. Its name depends on the URL of agents.json and on the agent. */
  static async open(directory: string, agents: URL, agentId: string, most = MAX_FILE): Promise<Book> {
    const { join } = await nodeModule<typeof import("node:path")>("path", "a file of receipts");
    const digest = fromBase64(await sha256(utf8(`${agents.href}\n${agentId}\n`))) ?? new Uint8Array();
    const hex = [...digest.subarray(0, 6)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const host = agents.hostname.toLowerCase().replace(/\.$/, "").replace(/^\[|\]$/g, "").replace(/[^a-z0-9.-]/g, "_");
    return new Book(join(directory, `${host.replace(/^\.+/, "").slice(0, 100)}-${hex}${EXTENSION}`), most);
  }

  /** Records that a call is about to be sent. req is the digest of the request. It returns the places of the newest entries. */
  async begin(req: string | undefined, now: number): Promise<Mark> {
    let mark: Mark = new Map();
    await this.append(now, async (lines) => {
      mark = newest(linksOf(lines));
      return [{ type: "sent", at: timeOf(now), ...(req ? { req } : {}) }];
    });
    return mark;
  }

  /**
   * Records a charge with its receipt, if there is one, and the problems that were found. It compares the receipt with the recorded ones if
   * own is true: if its signature is valid and it is for this call. It returns all problems.
   */
  async add(
    mark: Mark | undefined,
    call: RecordedCall,
    receipt: string,
    own: boolean,
    problems: ReceiptProblem[],
    now: number,
  ): Promise<ReceiptProblem[]> {
    let all = problems;
    const text = receipt.length > MAX_RECEIPT ? "" : receipt;
    await this.append(now, async (lines) => {
      const mine = own ? await linkIn({ receipt: text }) : undefined;
      if (mine) all = [...problems, ...follow(mark ?? new Map(), call.replayed ?? false, mine, linksOf(lines))];
      const where = call.id.slice(0, 64);
      return [
        {
          type: "call",
          at: timeOf(now),
          call: members(call),
          ...(text ? { receipt: text } : {}),
          ...(all.length > 0 ? { problems: all.map(({ name, detail }) => ({ name, where, detail })) } : {}),
        },
      ];
    });
    return all;
  }

  /** Records the keys that the agent trusts, in a JWKS, unless one of the last records has the same ones. */
  async trust(jwks: JsonObject, now: number): Promise<void> {
    const text = canonical(jwks);
    await this.append(now, async (lines) => {
      const known = lines.some(({ keys }) => keys === text);
      return known ? [] : [{ type: "keys", at: timeOf(now), jwks: JSON.parse(text) as JsonObject }];
    });
  }

  /** Returns the keys that were recorded last, as a JWKS; undefined if there are none. */
  async trusted(): Promise<JsonObject | undefined> {
    const records = keyRecords((await readPrivate(this.path, MAX_FILE + MAX_LINE)) ?? "");
    return records.at(-1);
  }

  /** append appends the records that f returns for the last lines of the file, while this process has the lock. */
  private async append(now: number, f: (lines: Line[]) => Promise<JsonObject[]>): Promise<void> {
    const fs = await nodeModule<typeof import("node:fs")>("fs", "a file of receipts");
    await lockFile(`${this.path}.lock`, async () => {
      let file: number | undefined;
      try {
        file = fs.openSync(this.path, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600);
        const end = await this.endOf(fs, file);
        this.#end = undefined;
        const records = await f(end.lines);
        const texts = records.map((record) => utf8(`${JSON.stringify(record)}\n`));
        const text = Buffer.concat(texts);
        if (text.length > 0 && end.size > 0 && end.size + text.length > this.most) return await this.rotate(fs, text, now);
        for (let at = 0; at < text.length;) at += fs.writeSync(file, text, at, text.length - at, end.size + at);
        for (const [n, record] of records.entries()) end.lines.push(await lineOf(record, texts[n]?.length ?? 0));
        this.#end = { ...end, size: end.size + text.length, lines: lastOf(end.lines) };
      } catch (error) {
        this.fail(error);
      } finally {
        if (file !== undefined) fs.closeSync(file);
      }
    });
  }

  /** endOf returns the end of the file. It reads the file if another process has changed it, and removes an incomplete last line. */
  private async endOf(fs: Fs, file: number): Promise<End> {
    const { ino, mode, size } = fs.fstatSync(file);
    if ((mode & 0o077) !== 0 && process.platform !== "win32") throw new FileError(`other users can access ${this.path}: run chmod 600 on it`);
    if (this.#end?.ino === ino && this.#end.size === size) return this.#end;
    const read = readTail(fs, file, size);
    return { ino, size: read.size, lines: await Promise.all(read.lines.map((line) => lineOf(recordOf(line) ?? {}, Buffer.byteLength(line) + 1))) };
  }

  private fail(error: unknown): never {
    if (error instanceof FileError) throw error;
    throw new FileError(`${this.path} cannot be written (${(error as NodeJS.ErrnoException).code ?? "unknown"})`);
  }

  /** older returns the path of file n: 0 is the current one, and higher numbers are older. */
  private older(n: number): string {
    return n === 0 ? this.path : `${this.path.slice(0, -EXTENSION.length)}.${n}${EXTENSION}`;
  }

  /** rotate begins a new file, which repeats the keys. */
  private async rotate(fs: Fs, lines: Uint8Array, now: number): Promise<void> {
    const keys = new Map<string, JsonObject>();
    for (let n = 0; n < MAX_FILES; n++) {
      for (const jwks of keyRecords((await readPrivate(this.older(n), MAX_FILE + MAX_LINE)) ?? "")) {
        for (const key of (jwks.keys as JsonObject[]).filter(isObject)) keys.set(`${String(key.uim_purpose)} ${String(key.kid)}`, key);
      }
    }
    for (let n = MAX_FILES - 2; n >= 0; n--) {
      if (fs.existsSync(this.older(n))) fs.renameSync(this.older(n), this.older(n + 1));
    }
    const jwks = { keys: [...keys.keys()].sort().map((place) => keys.get(place) as JsonObject) };
    const first = keys.size > 0 ? `${JSON.stringify({ type: "keys", at: timeOf(now), jwks })}\n` : "";
    await writePrivate(this.path, first + new TextDecoder().decode(lines));
  }
}

function timeOf(now: number): string {
  return new Date(now).toISOString();
}

/** members returns a call in the form of a record. */
function members({ amount, currency, req, ...call }: RecordedCall): JsonObject {
  const known = { ...call, amount: `${amount} ${currency}`, req };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined && value !== "" && value !== false)) as JsonObject;
}

/** keyRecords returns the sets of keys in a file, in its order. */
function keyRecords(text: string): JsonObject[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith(KEYS))
    .flatMap((line) => {
      const jwks = recordOf(line)?.jwks;
      return isObject(jwks) && Array.isArray(jwks.keys) ? [jwks] : [];
    });
}

function recordOf(line: string): JsonObject | undefined {
  try {
    const record: unknown = JSON.parse(line);
    return isObject(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

async function lineOf(record: JsonObject, bytes: number): Promise<Line> {
  return { bytes, keys: record.type === "keys" ? keysIn(record.jwks) : "", link: await linkIn(record) };
}

function keysIn(jwks: Json | undefined): string {
  try {
    return isObject(jwks) ? canonical(jwks) : "";
  } catch {
    return "";
  }
}

function linksOf(lines: Line[]): Link[] {
  return lines.flatMap(({ link }) => link ?? []);
}

/** lastOf returns the last lines that have at most MAX_TAIL bytes in all. */
function lastOf(lines: Line[]): Line[] {
  let from = lines.length;
  for (let bytes = 0; from > 0 && (bytes += lines[from - 1]?.bytes ?? 0) <= MAX_TAIL;) from--;
  return lines.slice(from);
}

/** readTail removes an incomplete last line. It returns the last complete lines, and the new size of the file. */
function readTail(fs: Fs, file: number, whole: number): { lines: string[]; size: number } {
  const from = Math.max(0, whole - MAX_TAIL);
  const bytes = Buffer.alloc(whole - from);
  let read = 0;
  for (let n = -1; read < bytes.length && n !== 0; read += n) n = fs.readSync(file, bytes, read, bytes.length - read, from + read);
  const end = bytes.subarray(0, read).lastIndexOf(0x0a) + 1;
  if (end === 0 && from > 0) return { lines: [], size: whole }; // one line is longer than the tail
  if (from + end < whole) fs.ftruncateSync(file, from + end);
  const lines = bytes.subarray(0, end).toString("utf8").split("\n");
  if (from > 0) lines.shift();
  return { lines: lines.filter((line) => line !== ""), size: from + end };
}
