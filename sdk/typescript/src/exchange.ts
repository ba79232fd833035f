import { checkUrl } from "./address.js";
import { AddressError, NetworkError, RedirectError, ResponseError } from "./errors.js";

/** The function of the Fetch standard. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** A request of the client. */
export interface ExchangeRequest {
  method: "GET" | "POST";
  url: string | URL;
  /** The document that contains the URL; undefined means that the caller named it. */
  from?: URL | undefined;
  headers: Record<string, string>;
  body?: string;
  /** Maximum size of the response, in bytes. */
  maxBytes: number;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** A complete response. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  url: URL;
}

const MAX_REDIRECTS = 5;
/** Codes of Node.js for requests that were not sent. */
const UNSENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

/** Sends requests, and limits the size and the time of responses. Nothing that carries a token or a signature follows a redirect. */
export class Exchanger {
  constructor(
    readonly fetch: Fetch,
    readonly allowInsecure: boolean,
    readonly onResponse: (url: URL, headers: Headers) => void,
  ) {}

  /** Fetches a document that needs no token, through at most five redirects. */
  async document(request: ExchangeRequest): Promise<Answer> {
    return this.within(request, (bounded) => this.follow(bounded));
  }

  private async follow(request: BoundedRequest): Promise<Answer> {
    let url = checkUrl(request.url, request.from, this.allowInsecure);
    const asked = url;
    for (let n = 0; ; n++) {
      const response = await this.send(url, request, "manual");
      if (response.type === "opaqueredirect") return this.followed(url, request); // browsers do not show where a redirect leads
      const to = response.headers.get("location");
      if (![301, 302, 303, 307, 308].includes(response.status) || to === null) return this.read(response, url, request);
      await response.body?.cancel();
      if (n === MAX_REDIRECTS) throw new RedirectError(`${asked.origin} redirects more than ${MAX_REDIRECTS} times`);
      url = checkUrl(new URL(to, url), url, this.allowInsecure);
    }
  }

  private async followed(url: URL, request: BoundedRequest): Promise<Answer> {
    const response = await this.send(url, request, "follow");
    const end = checkUrl(response.url, url, this.allowInsecure);
    return this.read(response, end, request);
  }

  /** Sends a request that may carry a token or a signature. */
  async authenticated(request: ExchangeRequest): Promise<Answer> {
    return this.within(request, (bounded) => this.once(bounded));
  }

  private async once(request: BoundedRequest): Promise<Answer> {
    const url = checkUrl(request.url, request.from, this.allowInsecure);
    const response = await this.send(url, request, "manual");
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      await response.body?.cancel();
      throw new RedirectError(`${url.origin} redirects a request that carries a token or a signature: the client did not follow`);
    }
    return this.read(response, url, request);
  }

  /** Runs an exchange with a signal that aborts after its time, or when the caller aborts it. */
  private async within(request: ExchangeRequest, run: (bounded: BoundedRequest) => Promise<Answer>): Promise<Answer> {
    const { signal, timeoutMs } = request;
    signal?.throwIfAborted();
    const controller = new AbortController();
    const stop = (): void => controller.abort(signal?.reason);
    const timer = setTimeout(() => controller.abort(new DOMException("the time is over", "TimeoutError")), timeoutMs);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await run({ ...request, abort: controller.signal });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }

  private async send(url: URL, request: BoundedRequest, redirect: RequestRedirect): Promise<Response> {
    const { method, headers, body, abort } = request;
    try {
      const response = await this.fetch(url.href, {
        method,
        headers,
        redirect,
        credentials: "omit",
        cache: "no-store",
        signal: abort,
        ...(body === undefined ? {} : { body }),
      });
      this.onResponse(url, response.headers);
      return response;
    } catch (error) {
      throw failure(url, error, request);
    }
  }

  /** Reads a body of at most maxBytes. */
  private async read(response: Response, url: URL, request: BoundedRequest): Promise<Answer> {
    let body: Uint8Array | undefined;
    try {
      body = await bytesOf(response, request.maxBytes);
    } catch (error) {
      throw failure(url, error, request, true);
    }
    if (!body) throw new ResponseError(`the response of ${url.origin} has more than ${request.maxBytes} bytes`, true);
    try {
      return { status: response.status, headers: response.headers, text: new TextDecoder("utf-8", { fatal: true }).decode(body), url };
    } catch {
      throw new ResponseError(`the response of ${url.origin} is not UTF-8`, true);
    }
  }
}

/** A request with the signal that ends it. */
type BoundedRequest = ExchangeRequest & { abort: AbortSignal };

/** bytesOf reads a body; undefined if it has more than most bytes. */
async function bytesOf(response: Response, most: number): Promise<Uint8Array | undefined> {
  const stated = response.headers.get("content-length");
  if (stated !== null && Number(stated) <= most && !response.headers.has("content-encoding"))
    return new Uint8Array(await response.arrayBuffer());
  const reader = response.body?.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (let part = await reader?.read(); reader && part && !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > most) {
      await reader.cancel().catch(() => {});
      return undefined;
    }
    parts.push(part.value);
  }
  const out = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function failure(url: URL, error: unknown, request: ExchangeRequest, answered = false): Error {
  return networkFailure(url, error, request.signal, answered, request.timeoutMs);
}

/** Returns the error for an exchange that failed: a NetworkError, or the reason of an aborted signal. */
export function networkFailure(url: URL, error: unknown, signal: AbortSignal | undefined, answered = false, timeoutMs = 0): Error {
  if (error instanceof AddressError) return error;
  if (error instanceof Error && error.cause instanceof AddressError) return error.cause;
  if (signal?.aborted) return abortError(signal);
  const cause = (error as { cause?: { code?: unknown } }).cause;
  const name = (error as Error).name;
  const what = name === "TimeoutError" ? `no response within ${timeoutMs / 1000} seconds` : "the connection failed";
  const code = typeof cause?.code === "string" ? ` (${cause.code})` : "";
  return new NetworkError(`${url.origin}: ${what}${code}`, answered || !UNSENT.has(String(cause?.code)), { cause: error });
}

/** Returns the reason of an aborted signal as an error. */
export function abortError(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new DOMException("the call was aborted", "AbortError");
}
