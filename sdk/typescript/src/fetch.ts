import { AddressError, LostError, NetworkError, OptionsError, RedirectError } from "./errors.js";
import { type Fetch, networkFailure } from "./exchange.js";
import { guardedFetch } from "./guard.js";
import { type Internals, internalsOf } from "./internals.js";
import type { UimClient } from "./client.js";
import { proofOf } from "./call.js";
import { parseCharge } from "./charge.js";
import type { Reservation } from "./budget.js";
import type { CallRecord } from "./record.js";
import type { Session } from "./session.js";
import { randomId } from "./sign.js";
import type { Bounds } from "./spending.js";
import { toolNames } from "./toolnames.js";
import { callIn, outcomeIn, type WireCall } from "./wire.js";

/** The options of wrapFetch. */
export type WrapOptions = Pick<Bounds, "budget" | "approve">;

/** The most bytes of a request with a call, and of the response to one. */
const MAX_BODY = 8 << 20;

/**
 * Returns a fetch that sends the requests of any client, such as one of MCP (Streamable HTTP) or A2A, as requests of the agent: with the
 * token and, for calls that need one, with a proof that is signed for each request. It renews the token, keeps calls within the budget,
 * and repeats a call whose response was lost under one idempotency key. Requests to origins other than those of the service are sent unchanged,
 * without a token. Requests to the service through the global fetch connect only to addresses that the client itself uses. Another
 * function has to check addresses itself. Errors: those of fetch, and BudgetError, ApprovalError, NotAgreedError, RenewalError,
 * RedirectError and AddressError.
 */
export function wrapFetch(fetch: Fetch, client: UimClient, options: WrapOptions = {}): Fetch {
  const internals = internalsOf(client);
  const checked = fetch === globalThis.fetch && !internals.c.settings.allowInsecure ? guardedFetch() : fetch;
  const { endpoints, intents } = internals.c.catalog;
  const origins = new Set([endpoints.execute, endpoints.mcp, endpoints.a2a].filter(Boolean).map((url) => new URL(url).origin));
  let names: Promise<Map<string, string>> | undefined;
  return async (input, init) => {
    const url = new URL(
      input instanceof Request ? input.url : String(input),
      (globalThis as { location?: { href: string } }).location?.href,
    );
    if (!origins.has(url.origin)) return fetch(input, init);
    const request = await Outgoing.of(checked, input, init, url);
    names ??= toolNames(intents.filter((intent) => !intent.retired).map((intent) => intent.uid));
    const call = request.body === undefined ? undefined : callIn(url, endpoints.execute, request.body, await names);
    return call ? sendCall(internals, request, call, options) : sendPlain(internals, request);
  };
}

/** A request that can be sent several times. */
class Outgoing {
  private constructor(
    private readonly fetch: Fetch,
    readonly url: URL,
    readonly init: RequestInit,
    readonly body: string | undefined,
  ) {}

  static async of(fetch: Fetch, input: string | URL | Request, init: RequestInit | undefined, url: URL): Promise<Outgoing> {
    const sent = init?.body ?? undefined;
    if (!(input instanceof Request) && (sent === undefined || typeof sent === "string")) {
      const headers = new Headers(init?.headers);
      return new Outgoing(fetch, url, { ...init, headers, redirect: "manual" }, sent);
    }
    const request = new Request(input, init?.body instanceof ReadableStream ? ({ ...init, duplex: "half" } as RequestInit) : init);
    const { method, headers, signal } = request;
    let body: string | undefined;
    if (request.body !== null) {
      const bytes = await request.arrayBuffer();
      if (bytes.byteLength > MAX_BODY) throw new OptionsError(`the request has more than ${MAX_BODY} bytes`);
      body = new TextDecoder().decode(bytes);
    }
    return new Outgoing(
      fetch,
      url,
      { ...init, method, headers, signal, redirect: "manual", ...(body === undefined ? {} : { body }) },
      body,
    );
  }

  field(name: string): string | undefined {
    return (this.init.headers as Headers).get(name) ?? undefined;
  }

  /** Sends the request with more fields. It follows no redirect, because the token and the proof would go along. */
  async send(fields: Record<string, string>): Promise<Response> {
    const headers = new Headers(this.init.headers);
    for (const [name, value] of Object.entries(fields)) headers.set(name, value);
    const response = await this.fetch(this.url.href, { ...this.init, headers }).catch((error: unknown) => {
      throw error instanceof Error && error.cause instanceof AddressError ? error.cause : error;
    });
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400 && response.status !== 304)) {
      await response.body?.cancel();
      throw new RedirectError(`${this.url.origin} redirects a request that carries a token: the client did not follow`);
    }
    return response;
  }
}

async function sendPlain({ agreements, c }: Internals, request: Outgoing): Promise<Response> {
  const session = await agreements.current();
  const response = await request.send({ Authorization: `Bearer ${session.token}` });
  c.clock.observe(response.headers);
  const next = await another({ agreements, c } as Internals, session, response);
  return next ? request.send({ Authorization: `Bearer ${next.token}` }) : response;
}

/** another returns the session with another token after a response that refuses the token of a session; undefined if there is none. */
async function another({ agreements }: Internals, session: Session, response: Response): Promise<Session | undefined> {
  if (response.status !== 401) return undefined;
  const changed = agreements.session?.token !== session.token || (await agreements.load());
  if (!changed) {
    try {
      await agreements.renew(session);
    } catch {
      return undefined; // the client gets the refusal of the service
    }
  }
  await response.body?.cancel();
  return agreements.session;
}

async function sendCall(internals: Internals, request: Outgoing, call: WireCall, options: WrapOptions): Promise<Response> {
  const { c, spending } = internals;
  const stated = await internals.stated(call.intent);
  const bounds = { budget: options.budget ?? c.settings.budget, approve: options.approve ?? c.settings.approve };
  const keyed = stated.kind !== "free" || !c.catalog.intents.find((intent) => intent.uid === call.intent)?.safe;
  await internals.agreements.current(); // without an agreement, there is no price
  return spending.alone(stated, async () => {
    const reservation = await spending.reserve(
      { intent: call.intent, parameters: call.parameters, service: c.catalog.issuer },
      stated,
      bounds,
    );
    const record = internals.receipts.record(call.intent, call.parameters, stated.kind === "free");
    const attempts = new Attempts(internals, request, call, keyed, record);
    try {
      const response = await attempts.run();
      await account(internals, response, call, reservation, attempts);
      return response;
    } catch (error) {
      const reason = attempts.maybeDone && !(error instanceof LostError) ? new LostError(error as Error, attempts.key) : error;
      await spending.settle(reservation, call.intent, stated, undefined, reason);
      throw reason;
    }
  });
}

/** The attempts of one call. */
class Attempts {
  /** Whether an attempt that got no response may have taken effect. */
  maybeDone = false;
  /** The key under which the call is done once; empty if it has none. */
  readonly key: string;
  readonly #fields: Record<string, string> = {};

  constructor(
    private readonly i: Internals,
    private readonly request: Outgoing,
    private readonly call: WireCall,
    private readonly keyed: boolean,
    readonly record: CallRecord | undefined,
  ) {
    this.key = request.field("Idempotency-Key") ?? (call.key || (keyed ? randomId() : ""));
    if (keyed && call.key === "") this.#fields["Idempotency-Key"] = this.key;
  }

  async run(): Promise<Response> {
    const { c, agreements } = this.i;
    const signal = this.request.init.signal ?? undefined;
    for (let attempt = 1, renewed = false; ; attempt++) {
      const session = await agreements.current();
      this.#fields.Authorization = `Bearer ${session.token}`;
      if (this.keyed && !this.call.proved) this.#fields["UIM-Proof"] = await proofOf(c, session, this.call.intent, this.call.parameters);
      await this.record?.begin();
      signal?.throwIfAborted();
      try {
        const response = await this.request.send(this.#fields);
        c.clock.observe(response.headers);
        if (renewed || !(await another(this.i, session, response))) return response;
        renewed = true;
      } catch (error) {
        if (error instanceof RedirectError || error instanceof AddressError) throw error; // nothing was sent to the service
        const failure = networkFailure(this.request.url, error, signal);
        this.maybeDone ||= !(failure instanceof NetworkError) || failure.sent;
        const again = failure instanceof NetworkError && (this.key !== "" || !failure.sent) && attempt < c.settings.maxAttempts;
        if (!again) throw failure;
        await c.settings.sleep(250 * 2 ** (attempt - 1), signal);
      }
    }
  }
}

/** account settles the reservation of a call by what its response says: now, or at the end of a stream. */
async function account(
  internals: Internals,
  response: Response,
  call: WireCall,
  reservation: Reservation,
  attempts: Attempts,
): Promise<void> {
  const { spending, c } = internals;
  const stated = await internals.stated(call.intent);
  const settle = async (text: string): Promise<void> => {
    const { charge, error, receipt, replayed } = outcomeIn(response.status, response.headers, text);
    const lost = error && attempts.maybeDone && !error.replayed ? new LostError(error, attempts.key) : error;
    await spending.settle(reservation, call.intent, stated, charge, lost);
    await attempts.record?.end({ charge, receipt, replayed });
  };
  if (parseCharge(response.headers.get("uim-charge"))) return settle("");
  if (!response.body || stated.kind === "free") return settle("");
  const read = bounded(response.clone());
  if (!/^text\/event-stream/i.test(response.headers.get("content-type") ?? "")) return settle((await read) ?? "");
  void read
    .then((text) => (text === undefined ? undefined : settle(text)))
    .catch((error: unknown) => {
      c.settings.onWarning(`the charge of a call of ${call.intent} could not be counted: ${(error as Error).message}`);
    });
}

/** bounded reads a copy of a response; undefined if it is too long or ends early, so that the price stays reserved. */
async function bounded(copy: Response): Promise<string | undefined> {
  const reader = copy.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let part = await reader?.read(); reader && part && !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, { stream: true });
      if (text.length > MAX_BODY) {
        await reader.cancel();
        return undefined;
      }
    }
    return text;
  } catch {
    return undefined;
  }
}
