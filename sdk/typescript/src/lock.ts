import { FileError } from "./errors.js";
import { nodeModule } from "./platform.js";

const WAIT_MS = 10_000;
const POLL_MS = 10;
/** open(2) of macOS takes the lock of flock(2) with this flag; Linux has no such flag. */
const O_EXLOCK = 0x20;

/**
 * A process keeps the lock of a file for a while, because starting the program flock costs more processor time than a call. Other processes
 * get the lock after at most HOLD_MS, and at once if this process does not use the file for IDLE_MS.
 */
const HOLD_MS = 200;
const IDLE_MS = 100;
/** How long the file stays unlocked after HOLD_MS. It is longer than the pause between two attempts of other programs to get the lock. */
const TURN_MS = 25;

/** The last call for each file. Calls of this process for the same file wait for each other. */
const queues = new Map<string, Promise<unknown>>();
/** The locks that this process keeps, by path. */
const kept = new Map<string, KeptLock>();

/** Runs f while this process holds the lock of flock(2) on a file. `uimgate` uses the same lock. A lock ends with the process. */
export function lockFile<T>(path: string, f: () => Promise<T>): Promise<T> {
  const run = process.platform === "linux" ? () => withKept(path, f) : () => withOpened(path, f);
  return inTurn(path, run);
}

/** inTurn runs f after the earlier calls for a file have ended. */
function inTurn<T>(path: string, f: () => Promise<T>): Promise<T> {
  const mine = (queues.get(path) ?? Promise.resolve()).then(f, f);
  const settled = mine.catch(() => {});
  queues.set(path, settled);
  void settled.then(() => {
    if (queues.get(path) === settled) queues.delete(path);
  });
  return mine;
}

async function withOpened<T>(path: string, f: () => Promise<T>): Promise<T> {
  const unlock = await lockByOpen(path);
  try {
    return await f();
  } finally {
    await unlock();
  }
}

async function withKept<T>(path: string, f: () => Promise<T>): Promise<T> {
  let lock = kept.get(path);
  if (lock?.ended) lock = undefined; // someone has ended the program
  lock ??= await KeptLock.take(path);
  kept.set(path, lock);
  clearTimeout(lock.timer);
  try {
    return await f();
  } finally {
    const left = lock.until - performance.now();
    if (left <= 0) {
      await lock.release(path);
      await new Promise((resolve) => setTimeout(resolve, TURN_MS));
    } else {
      const held = lock;
      lock.timer = setTimeout(() => void inTurn(path, () => held.releaseIdle(path)), Math.min(left, IDLE_MS));
      lock.timer.unref();
    }
  }
}

/** A lock that the program flock holds until its standard input ends. A crash of this process ends it too. */
class KeptLock {
  readonly until = performance.now() + HOLD_MS;
  timer: NodeJS.Timeout | undefined;
  ended = false;

  private constructor(private readonly child: import("node:child_process").ChildProcessByStdio<Socket, Socket, null>) {
    child.once("close", () => (this.ended = true));
    for (const part of [child, child.stdin, child.stdout]) part.unref();
  }

  static async take(path: string): Promise<KeptLock> {
    await makeDirectory(path);
    const { spawn } = await nodeModule<typeof import("node:child_process")>("child_process", "a lock");
    const child = spawn("flock", ["-x", path, "cat"], { stdio: ["pipe", "pipe", "ignore"] });
    const { promise: locked, resolve, reject } = deferred<void>();
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
    const late = new FileError(`another process has held the lock on ${path} for ${WAIT_MS / 1000} seconds`);
    const timer = setTimeout(() => reject(late), WAIT_MS);
    child.stdin.on("error", () => {}); // the program has ended, which "close" reports
    child.stdin.write("\n"); // cat returns it once there is the lock
    try {
      await locked;
    } catch (error) {
      child.kill();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    return new KeptLock(child as never);
  }

  /** Releases the lock, and waits until other processes can take it. */
  async release(path: string): Promise<void> {
    clearTimeout(this.timer);
    kept.delete(path);
    if (this.ended) return;
    const { promise, resolve } = deferred<void>();
    this.child.ref();
    this.child.once("close", () => resolve());
    this.child.stdin.end();
    await promise;
  }

  /** Releases the lock, unless a later call has released or replaced it. */
  async releaseIdle(path: string): Promise<void> {
    if (kept.get(path) === this && this.timer !== undefined) await this.release(path);
  }
}

type Socket = import("node:net").Socket;

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (error: Error) => void } {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
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
