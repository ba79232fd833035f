import { type Accounts, formatAccounts, parseAccounts } from "./accounts.js";
import { type AccountStore, Budget, parseLimit } from "./budget.js";
import { FileError, KeyError } from "./errors.js";
import { type AgentKey, generatePem, importKey } from "./keys.js";
import { lockFile } from "./lock.js";
import type { SessionStore } from "./options.js";
import { isNode, nodeModule } from "./platform.js";
import { MAX_KEY_TEXT } from "./pkcs8.js";

const MAX_SESSION = 8 << 20;
const MAX_ACCOUNTS = 4 << 20;

/** Reads a file that only its owner can read. It returns undefined if there is none, and throws a FileError if others can read it. */
export async function readPrivate(path: string, most: number): Promise<string | undefined> {
  const fs = await nodeModule<typeof import("node:fs/promises")>("fs/promises", "a file");
  const file = await fs.open(path, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new FileError(`${path} cannot be opened (${error.code ?? "unknown"})`);
  });
  if (!file) return undefined;
  try {
    const { mode, size } = await file.stat();
    if ((mode & 0o077) !== 0 && process.platform !== "win32") {
      throw new FileError(`other users can access ${path} (mode ${(mode & 0o777).toString(8).padStart(4, "0")}): run chmod 600 on it`);
    }
    if (size > most) throw new FileError(`${path} is larger than ${most} bytes`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

/** Creates or replaces a file, atomically and durably. Only the owner can read it (0600). Missing directories get mode 0700. */
export async function writePrivate(path: string, text: string): Promise<void> {
  const fs = await nodeModule<typeof import("node:fs/promises")>("fs/promises", "a file");
  const { dirname, join } = await nodeModule<typeof import("node:path")>("path", "a file");
  const directory = dirname(path);
  const draft = join(directory, `.new-${crypto.randomUUID()}`);
  await fs.mkdir(directory, { recursive: true, mode: 0o700 });
  try {
    const file = await fs.open(draft, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await fs.rename(draft, path);
    await sync(fs, directory);
  } catch (error) {
    await fs.rm(draft, { force: true });
    throw new FileError(`${path} cannot be written (${(error as NodeJS.ErrnoException).code ?? "unknown"})`);
  }
}

/** sync makes the names in a directory durable, where the system supports it. */
async function sync(fs: typeof import("node:fs/promises"), directory: string): Promise<void> {
  if (process.platform === "win32") return;
  const file = await fs.open(directory, "r");
  await file.sync().finally(() => file.close());
}

/**
 * Reads the key of a file: PEM (PKCS#8), as `uimgate agent keygen` writes it, or a JWK. With create, it makes an Ed25519 key if there is no
 * file. It throws a FileError or a KeyError, which never quote the file. It needs Node.js.
 */
export async function keyFromFile(path: string, options: { create?: boolean } = {}): Promise<AgentKey> {
  let text = await readPrivate(path, MAX_KEY_TEXT);
  if (text === undefined && options.create) {
    text = await generatePem();
    await writePrivate(path, text);
  }
  if (text === undefined) throw new FileError(`${path} does not exist: create it with \`uimgate agent keygen\`, or pass {create: true}`);
  try {
    return await importKey(text);
  } catch (error) {
    throw new KeyError(`${path}: ${(error as Error).message}`);
  }
}

/** Reads the key in an environment variable: PEM (PKCS#8) or a JWK. It throws a KeyError, which never quotes the variable. */
export async function keyFromEnvironment(name = "UIMGATE_AGENT_KEY"): Promise<AgentKey> {
  const text = isNode ? process.env[name] : undefined;
  if (!text) throw new KeyError(`the environment variable ${name} is not set: want a key as PEM (PKCS#8) or JWK`);
  try {
    return await importKey(text);
  } catch (error) {
    throw new KeyError(`the environment variable ${name}: ${(error as Error).message}`);
  }
}

/** Keeps a session in a file that only its owner can read. It needs Node.js. */
export function fileSession(path: string): SessionStore {
  return { load: () => readPrivate(path, MAX_SESSION), save: (text) => writePrivate(path, text) };
}

/**
 * Returns a budget whose amounts are kept in a file in the form of spent.json, which `uimgate mcp` uses: all processes that use one file
 * spend from one budget. A reservation is on the disk before the call is sent, so it counts after a crash too. It needs Node.js and, on
 * Linux, the program flock.
 */
export function fileBudget(path: string, limits: string | string[], now: () => number = Date.now): Budget {
  const change: AccountStore["change"] = (f) =>
    lockFile(`${path}.lock`, async () => {
      const text = await readPrivate(path, MAX_ACCOUNTS);
      const accounts: Accounts = text === undefined ? new Map() : parseAccounts(text, path);
      const result = f(accounts);
      await writePrivate(path, formatAccounts(accounts, now()));
      return result;
    });
  return new Budget([limits].flat().map(parseLimit), { change }, now);
}
