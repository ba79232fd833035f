import type { Budget } from "./budget.js";
import { defaultLocate, type Locate } from "./dns.js";
import { OptionsError } from "./errors.js";
import type { Fetch } from "./exchange.js";
import { guardedFetch } from "./guard.js";
import type { JsonObject } from "./json.js";
import type { AgentKey } from "./keys.js";
import type { Price } from "./price.js";

/** A call that waits for approval. */
export interface PlannedCall {
  readonly intent: string;
  readonly parameters: JsonObject;
  /** uim-issuer of the service. */
  readonly service: string;
}

/** Accepts or rejects a call that costs something, or whose price is unknown. It may ask a person. */
export type Approve = (call: PlannedCall, price: Price) => boolean | Promise<boolean>;

/** Stores the session of an agent with one service as text. Only the agent may be able to read it, because it contains the token. */
export interface SessionStore {
  load(): Promise<string | undefined>;
  save(text: string): Promise<void>;
}

/** The options of UimClient.discover. */
export interface ClientOptions {
  /** Key of the agent: keyFromFile, keyFromEnvironment, generateKey, webCryptoKey, importKey or signerKey. */
  key: AgentKey;
  /** Name of the agent, 1 to 200 visible ASCII characters. The default is agent- and the first 12 characters of the thumbprint. */
  agentId?: string;
  /** Limits the prices of calls, not those of goods that a service sells. Without a budget and without approve, calls that cost something are refused. */
  budget?: Budget;
  /** Accepts or rejects each call that costs something. */
  approve?: Approve;
  /** Stores the session. Without a store, the session lasts as long as the client. */
  session?: SessionStore;
  /**
   * Directory for receipts. The client then checks the receipt of each charge, and keeps it there in the form that
   * `uimgate agent receipts` reads. It needs Node.js and, on Linux, the program flock.
   */
  receipts?: string;
  /** Looks up a domain. The default is the DNS of the system in Node.js, and no DNS elsewhere. */
  locate?: Locate;
  /**
   * Receives warnings for the owner of the agent: a wrong clock, or a receipt that does not match the call. The default is console.warn.
   */
  onWarning?: (message: string) => void;
  /**
   * The function that sends requests. The default is the global fetch which, outside browsers, connects only to names with addresses of the
   * public internet. A function of your own replaces that check.
   */
  fetch?: Fetch;
  /** Maximum duration of one exchange, in milliseconds. The default is 30 s or, for a call, 20 s more than its intent may take. */
  timeoutMs?: number;
  /** Maximum size of agents.json (default 16 MiB) and of the response to a call (default 8 MiB), in bytes. */
  maxDocument?: number;
  maxAnswer?: number;
  /** Maximum number of times that a call is sent (default 4), and maximum total wait between attempts, in milliseconds (default 30 s). */
  maxAttempts?: number;
  maxWaitMs?: number;
  /** Permits http, private addresses and any issuer. Use it only for tests in a closed network. */
  allowInsecure?: boolean;
  /** Milliseconds since 1970. The default is Date.now. */
  now?: () => number;
  /** Waits, or rejects if the signal aborts. The default is a timer. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** The options with their defaults. */
export type Settings = Required<Omit<ClientOptions, "budget" | "approve" | "session" | "receipts" | "timeoutMs">> &
  Pick<ClientOptions, "budget" | "approve" | "session" | "receipts" | "timeoutMs">;

/** Returns the options with their defaults. It throws an OptionsError if one is wrong. */
export function settingsOf(options: ClientOptions): Settings {
  const { key } = options;
  if (!key || typeof key.sign !== "function" || typeof key.thumbprint !== "string") {
    throw new OptionsError("key is missing: use keyFromFile, keyFromEnvironment, generateKey, webCryptoKey, importKey or signerKey");
  }
  const agentId = options.agentId ?? `agent-${key.thumbprint.slice(0, 12)}`;
  if (!/^[\x21-\x7e]{1,200}$/.test(agentId)) throw new OptionsError("agentId must have 1 to 200 visible ASCII characters");
  for (const name of ["timeoutMs", "maxDocument", "maxAnswer", "maxAttempts", "maxWaitMs"] as const) {
    const value = options[name];
    if (value !== undefined && !(value > 0)) throw new OptionsError(`${name} must be above zero`);
  }
  return {
    maxDocument: 16 << 20,
    maxAnswer: 8 << 20,
    maxAttempts: 4,
    maxWaitMs: 30_000,
    allowInsecure: false,
    now: Date.now,
    sleep,
    locate: defaultLocate,
    onWarning: (message) => console.warn(`uimgate: ${message}`),
    fetch: options.allowInsecure ? (input, init) => globalThis.fetch(input, init) : guardedFetch(),
    ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
    key,
    agentId,
  };
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason instanceof Error ? signal.reason : new DOMException("the call was aborted", "AbortError"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
}
