import { FileError } from "./errors.js";
import { nodeModule } from "./platform.js";

const WAIT_MS = 10_000;
const POLL_MS = 10;
/** open(2) of macOS takes the lock of flock(2) with this flag; Linux has no such flag. */
const O_EXLOCK = 0x20;

/** The last call for each file. Calls of this process for the same file wait for each other. */
const queues = new Map<string, Promise<unknown>>();

/** Runs f while this process holds the lock of flock(2) on a file. `uimgate` uses the same lock. A lock ends with the process. */
export function lockFile<T>(path: string, f: () => Promise<T>): Promise<T> {
  const run = async (): Promise<T> => {
    const unlock = await (process.platform === "linux" ? lockByProgram(path) : lockByOpen(path));
    try {
      return await f();
    } finally {
      await unlock();
    }
  };
  const mine = (queues.get(path) ?? Promise.resolve()).then(run, run);
  const settled = mine.catch(() => {});
  queues.set(path, settled);
  void settled.then(() => {
    if (queues.get(path) === settled) queues.delete(path);
  });
  return mine;
}

/** lockByProgram starts the program flock, which holds the lock until its standard input ends. A crash of this process ends it too. */
async function lockByProgram(path: string): Promise<() => Promise<void>> {
  await makeDirectory(path);
  const { spawn } = await nodeModule<typeof import("node:child_process")>("child_process", "a lock");
  const child = spawn("flock", ["-x", path, "sh", "-c", "echo; exec cat"], { stdio: ["pipe", "pipe", "ignore"] });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const locked = new Promise<void>((resolve, reject) => {
    child.stdout.once("data", () => resolve());
    child.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        new FileError(
          error.code === "ENOENT"
            ? "a file of several processes needs the program flock: install util-linux, or use no fileBudget and no receipts"
            : `flock cannot be started (${error.code})`,
        ),
      ),
    );
    child.once("close", () => reject(new FileError(`${path} cannot be locked`)));
    setTimeout(() => reject(new FileError(`another process has held the lock on ${path} for ${WAIT_MS / 1000} seconds`)), WAIT_MS).unref();
  });
  try {
    await locked;
  } catch (error) {
    child.kill();
    throw error;
  }
  return async () => {
    child.stdin.end();
    await ended;
  };
}

async function lockByOpen(path: string): Promise<() => Promise<void>> {
  await makeDirectory(path);
  const { open, constants } = await nodeModule<typeof import("node:fs/promises")>("fs/promises", "a lock");
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | O_EXLOCK;
  for (const end = performance.now() + WAIT_MS; performance.now() < end;) {
    const file = await open(path, flags, 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "EAGAIN" || error.code === "EWOULDBLOCK") return undefined;
      throw new FileError(`${path} cannot be locked (${error.code})`);
    });
    if (file) return () => file.close();
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new FileError(`another process has held the lock on ${path} for ${WAIT_MS / 1000} seconds`);
}

async function makeDirectory(path: string): Promise<void> {
  const fs = await nodeModule<typeof import("node:fs/promises")>("fs/promises", "a lock");
  const { dirname } = await nodeModule<typeof import("node:path")>("path", "a lock");
  await fs.mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await fs.open(path, "a", 0o600); // flock(1) would create it with the mode of the umask
  await file.close();
}
