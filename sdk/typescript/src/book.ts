import { fromBase64, sha256, utf8 } from "./encoding.js";
import { FileError } from "./errors.js";
import { readPrivate, writePrivate } from "./files.js";
import { canonical, isObject, type JsonObject } from "./json.js";
import { lockFile } from "./lock.js";
import { nodeModule } from "./platform.js";
import { follow, type Mark, newest, receiptsIn } from "./follow.js";
import type { KnownCall, ReceiptProblem } from "./receipt.js";

const EXTENSION = ".jsonl";
/** The most bytes of a file, after which a new one begins, and the most files. Removing the oldest one keeps the number. */
const MAX_FILE = 16 << 20;
const MAX_FILES = 8;
const MAX_LINE = 1 << 20;
/** The bytes at the end of a file that are searched for earlier records. */
const MAX_TAIL = 64 << 10;
const MAX_RECEIPT = 16 << 10;
const KEYS = '{"type":"keys"';

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
  private constructor(
    readonly path: string,
    private readonly most: number,
  ) {}

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
    await this.append(now, async (tail) => {
      mark = newest(await receiptsIn(tail));
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
    await this.append(now, async (tail) => {
      const [mine] = own ? await receiptsIn([{ receipt: text }]) : [];
      if (mine) all = [...problems, ...follow(mark ?? new Map(), call.replayed ?? false, mine, await receiptsIn(tail))];
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
    await this.append(now, async (tail) => {
      const known = tail.some((r) => r.type === "keys" && isObject(r.jwks) && canonical(r.jwks) === text);
      return known ? [] : [{ type: "keys", at: timeOf(now), jwks: JSON.parse(text) as JsonObject }];
    });
  }

  /** Returns the keys that were recorded last, as a JWKS; undefined if there are none. */
  async trusted(): Promise<JsonObject | undefined> {
    const records = keyRecords((await readPrivate(this.path, MAX_FILE + MAX_LINE)) ?? "");
    return records.at(-1);
  }

  /** append appends the records that f returns for the last records of the file, while this process has the lock. */
  private async append(now: number, f: (tail: JsonObject[]) => Promise<JsonObject[]>): Promise<void> {
    const fs = await nodeModule<typeof import("node:fs/promises")>("fs/promises", "a file of receipts");
    await lockFile(`${this.path}.lock`, async () => {
      const file = await fs.open(this.path, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600).catch((e: unknown) => this.fail(e));
      try {
        const { tail, size } = await readTail(file, this.path);
        const records = await f(tail);
        if (records.length === 0) return;
        const lines = utf8(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
        if (size > 0 && size + lines.length > this.most) return await this.rotate(fs, lines, now);
        for (let at = 0; at < lines.length;) at += (await file.write(lines, at, lines.length - at, size + at)).bytesWritten;
      } catch (error) {
        this.fail(error);
      } finally {
        await file.close();
      }
    });
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
  private async rotate(fs: typeof import("node:fs/promises"), lines: Uint8Array, now: number): Promise<void> {
    const keys = new Map<string, JsonObject>();
    for (let n = 0; n < MAX_FILES; n++) {
      for (const jwks of keyRecords((await readPrivate(this.older(n), MAX_FILE + MAX_LINE)) ?? "")) {
        for (const key of (jwks.keys as JsonObject[]).filter(isObject)) keys.set(`${String(key.uim_purpose)} ${String(key.kid)}`, key);
      }
    }
    for (let n = MAX_FILES - 2; n >= 0; n--) {
      await fs.rename(this.older(n), this.older(n + 1)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
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

/** readTail removes an incomplete last line. It returns the last complete records, and the size of the file. */
async function readTail(file: import("node:fs/promises").FileHandle, path: string): Promise<{ tail: JsonObject[]; size: number }> {
  const { mode, size: whole } = await file.stat();
  if ((mode & 0o077) !== 0 && process.platform !== "win32") throw new FileError(`other users can access ${path}: run chmod 600 on it`);
  const from = Math.max(0, whole - MAX_TAIL);
  const bytes = Buffer.alloc(whole - from);
  let read = 0;
  for (let n = -1; read < bytes.length && n !== 0; read += n) n = (await file.read(bytes, read, bytes.length - read, from + read)).bytesRead;
  const end = bytes.subarray(0, read).lastIndexOf(0x0a) + 1;
  if (end === 0 && from > 0) return { tail: [], size: whole }; // one line is longer than the tail
  if (from + end < whole) await file.truncate(from + end);
  const lines = bytes.subarray(0, end).toString("utf8").split("\n");
  if (from > 0) lines.shift();
  return { tail: lines.map(recordOf).filter((record) => record !== undefined), size: from + end };
}
