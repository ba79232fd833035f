import type { Budget } from "./budget.js";
import { defaultLocate, type Locate } from "./dns.js";
import { OptionsError } from "./errors.js";
import type { Fetch } from "./exchange.js";
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

/** Decides about a call that costs something, or whose price is not known. It may ask a person. */
export type Approve = (call: PlannedCall, price: Price) => boolean | Promise<boolean>;

/** Keeps the session of an agent with one service as text, where only the agent can read it: the token is in it. */
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
  /** What calls may cost. Without a budget and without approve, calls that cost something are refused. */
  budget?: Budget;
  /** Decides about each call that costs something. */
  approve?: Approve;
  /** Where the session is kept. Without a store, it lasts as long as the client. */
  session?: SessionStore;
  /** Looks up a domain. The default is the DNS of the system in Node.js, and no DNS elsewhere. */
  locate?: Locate;
  /** Reports what the owner of the agent should know: a wrong clock, a receipt that does not fit. The default is console.warn. */
  onWarning?: (message: string) => void;
  /** The function that sends requests. The default is the global fetch. */
  fetch?: Fetch;
  /** Milliseconds that one exchange may take. The default is 30 s or, for a call, what its intent may take and 20 s. */
  timeoutMs?: number;
  /** Most bytes of agents.json (16 MiB) and of the response to a call (8 MiB). */
  maxDocument?: number;
  maxAnswer?: number;
  /** How often a call is sent at most (4), and the sum of the waits between attempts in milliseconds (30 s). */
  maxAttempts?: number;
  maxWaitMs?: number;
  /** Permits http, private addresses and any issuer. Only for tests in a closed network. */
  allowInsecure?: boolean;
  /** Milliseconds since 1970. The default is Date.now. */
  now?: () => number;
  /** Waits, or rejects if the signal aborts. The default is a timer. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** The options with their defaults. */
export type Settings = Required<Omit<ClientOptions, "budget" | "approve" | "session" | "timeoutMs">> &
  Pick<ClientOptions, "budget" | "approve" | "session" | "timeoutMs">;

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
    fetch: (input, init) => globalThis.fetch(input, init),
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
