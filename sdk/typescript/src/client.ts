import { type Agreement, agreementOf, Agreements, type AgreeOptions, type Connection } from "./agreement.js";
import { Book } from "./book.js";
import type { Budget } from "./budget.js";
import { Call, type Result } from "./call.js";
import { type Catalog, type Endpoints, type Intent, readCatalog } from "./catalog.js";
import { ServiceClock } from "./clock.js";
import {
  AddressError,
  DiscoveryError,
  FileError,
  NotAgreedError,
  OptionsError,
  ParametersError,
} from "./errors.js";
import { Exchanger } from "./exchange.js";
import { keepInternals } from "./internals.js";
import { isObject, type JsonError, type JsonObject, plainJson } from "./json.js";
import { type Approve, type ClientOptions, settingsOf } from "./options.js";
import { Policy } from "./policy.js";
import type { Price } from "./price.js";
import { type CheckedReceipt, ReceiptKeys } from "./receipt.js";
import { type CallRecord, Receipts, type Stated, statedBy } from "./record.js";
import { randomId } from "./sign.js";
import { Spending } from "./spending.js";
import { Successions } from "./succession.js";
import { parseTarget } from "./target.js";

/** The options of execute(). */
export interface ExecuteOptions {
  /**
   * The idempotency key: 1 to 128 visible ASCII characters. Choose it before the first attempt, and store it with the task: the service
   * never executes or charges a key twice.
   */
  idempotencyKey?: string;
  /** The budget for this call in place of the client's, or the maximum price of the call itself, such as "0.10 EUR". */
  budget?: Budget | string;
  /** Accepts or rejects this call, in place of the callback of the client. */
  approve?: Approve;
  /** Adds a proof even if the call is free. */
  prove?: boolean;
  /** Your own id of the request, 1 to 64 of A-Z a-z 0-9 . _ -. */
  requestId?: string;
  /** W3C Trace Context. */
  traceparent?: string;
  /** Maximum duration of one attempt, in milliseconds. */
  timeoutMs?: number;
  /** Aborts the wait. A call that was sent may still take effect. */
  signal?: AbortSignal;
}

/** The time that a call may take in addition to that of its intent, for queues, the records of the service and the network. */
const MARGIN_MS = 20_000;
const DISCOVERY_MS = 30_000;
const MAX_LOCATED = 4;

/** A client of one service. It is safe for calls that run at the same time. */
export class UimClient {
  readonly #c: Connection;
  readonly #agreements: Agreements;
  readonly #spending = new Spending();
  readonly #keys: ReceiptKeys;
  readonly #receipts: Receipts;
  readonly #proofRequested = new Set<string>();
  #policy: { digest: string; policy: Policy } | undefined;

  private constructor(c: Connection, book: Book | undefined) {
    this.#c = c;
    this.#agreements = new Agreements(c, book?.documents);
    this.#keys = new ReceiptKeys(c, book);
    const successions = new Successions(c, this.#agreements, book?.documents);
    this.#receipts = new Receipts(c, this.#agreements, this.#keys, book, successions);
    const [agreements, spending, receipts] = [this.#agreements, this.#spending, this.#receipts];
    keepInternals(this, { c, agreements, spending, receipts, stated: (intent) => this.#stated(intent) });
  }

  /**
   * Finds a service, and reads its agents.json. The target is a domain, an origin, or the URL of an agents.json. For a domain, DNS records
   * are looked up first. If options.session has a stored session, the client continues it. Errors: OptionsError, DiscoveryError,
   * AddressError, FileError.
   */
  static async discover(target: string, options: ClientOptions): Promise<UimClient> {
    const settings = settingsOf(options);
    const clock = new ServiceClock(settings.now, settings.onWarning);
    const { domain, urls } = parseTarget(target);
    const asked = urls[0] as URL;
    const failures: string[] = [];
    const signal = AbortSignal.timeout(DISCOVERY_MS);
    const located =
      domain === undefined
        ? []
        : await settings.locate(domain, signal).catch((error: unknown) => {
            failures.push(`DNS records of ${domain}: ${(error as Error).message}`);
            return [];
          });
    for (const [n, url] of [...located.slice(0, MAX_LOCATED), ...urls].entries()) {
      const byDns = n < Math.min(located.length, MAX_LOCATED);
      const exchanger = new Exchanger(settings.fetch, settings.allowInsecure, (at, headers) => {
        if (at.origin === new URL(url, asked).origin) clock.observe(headers);
      });
      try {
        const answer = await exchanger.document({
          method: "GET",
          url,
          from: byDns ? asked : undefined,
          headers: { Accept: "application/json" },
          maxBytes: settings.maxDocument,
          timeoutMs: settings.timeoutMs ?? DISCOVERY_MS,
          signal,
        });
        if (answer.status !== 200) throw new DiscoveryError(`${answer.url.href} responded with ${answer.status}`);
        const catalog = readCatalog(answer.text, answer.url);
        if (byDns && !settings.allowInsecure) checkNames(catalog, domain ?? "");
        const book = settings.receipts === undefined ? undefined : await Book.open(settings.receipts, answer.url, settings.agentId);
        const client = new UimClient({ settings, catalog, exchanger, clock, agents: answer.url, asked }, book);
        await client.#agreements.load();
        await client.#keys.load();
        return client;
      } catch (error) {
        if (error instanceof OptionsError || error instanceof FileError) throw error;
        failures.push((error as Error).message);
        if (error instanceof AddressError && !byDns) throw error;
      }
    }
    throw new DiscoveryError(`no agents.json was found: ${failures.join("; ")}`);
  }

  /** The name that agreements are made out to. */
  get issuer(): string {
    return this.#c.catalog.issuer;
  }

  /** The name of the agent. */
  get agentId(): string {
    return this.#c.settings.agentId;
  }

  /** The addresses of the service. */
  get endpoints(): Endpoints {
    return this.#c.catalog.endpoints;
  }

  /** The intents that the service offers. */
  get intents(): readonly Intent[] {
    return this.#c.catalog.intents;
  }

  /** The agreement, or undefined if there is none. */
  get agreement(): Agreement | undefined {
    const session = this.#agreements.session;
    return session && agreementOf(session);
  }

  /** Returns an intent by its UID. */
  intent(uid: string): Intent | undefined {
    return this.intents.find((intent) => intent.uid === uid);
  }

  /** Fetches the policy in force or, with a digest, the one that is announced under that digest. */
  policy(digest?: string): Promise<Policy> {
    return this.#agreements.policy(digest);
  }

  /**
   * Signs a policy, and stores the token. accept is the digest of the policy that the caller has read, or a function that decides about the
   * policy. The client signs no other policy, and signs only when the caller calls agree. Errors: PolicyChangedError, IssuerError,
   * PendingError, ApprovalError, RefusalError, NetworkError.
   */
  async agree(accept: string | ((policy: Policy) => boolean | Promise<boolean>), options: AgreeOptions = {}): Promise<Agreement> {
    const agreement = await this.#agreements.agree(accept, options);
    this.#spending.reset();
    await this.#keys.pin(true);
    return agreement;
  }

  /** Replaces the token with a new one under the same agreement. execute() does this when the token is about to expire. */
  async renew(): Promise<Agreement> {
    return agreementOf(await this.#agreements.renew());
  }

  /** Revokes the token at the service. */
  revoke(): Promise<void> {
    return this.#agreements.revoke();
  }

  /** Returns the maximum price of a call under the agreed policy, or the highest charge so far if that is more. */
  async price(intent: string): Promise<Price> {
    return this.#spending.price(await this.#stated(intent), intent);
  }

  /**
   * Calls an intent. It renews the token when that is due, and proves the key. If a response is lost, it repeats the call under the same
   * idempotency key. Errors: BudgetError, ApprovalError, ParametersError, NotAgreedError, PolicyChangedError, RefusalError, NetworkError,
   * ResponseError, RenewalError, RedirectError and LostError.
   */
  async execute(intent: string, parameters: object = {}, options: ExecuteOptions = {}): Promise<Result> {
    const plain = parametersOf(parameters);
    checkOptions(options);
    if (!this.#agreements.session) throw new NotAgreedError();
    const stated = await this.#stated(intent);
    const known = this.intent(intent);
    const { settings } = this.#c;
    const keyed = stated.kind !== "free" || !known?.safe || options.prove === true || this.#proofRequested.has(intent);
    const record = this.#receipts.record(intent, plain, stated.kind === "free");
    const call = new Call(this.#c, this.#agreements, {
      record,
      intent,
      parameters: plain,
      idempotencyKey: options.idempotencyKey ?? (keyed ? randomId() : ""),
      ownKey: options.idempotencyKey !== undefined,
      prove: keyed,
      requestId: options.requestId ?? "",
      traceparent: options.traceparent ?? "",
      signal: options.signal,
      timeoutMs: options.timeoutMs ?? settings.timeoutMs ?? (known?.timeout ?? 10) * 1000 + MARGIN_MS,
    });
    return this.#spend(intent, plain, stated, options, record, async () => {
      const result = await call.run();
      if (call.proved) this.#proofRequested.add(intent);
      return result;
    });
  }

  async #spend(
    intent: string,
    parameters: JsonObject,
    stated: Price,
    options: ExecuteOptions,
    record: CallRecord | undefined,
    run: () => Promise<Result>,
  ): Promise<Result> {
    const { settings } = this.#c;
    const bounds = {
      budget: typeof options.budget === "object" ? options.budget : settings.budget,
      approve: options.approve ?? settings.approve,
      most: typeof options.budget === "string" ? options.budget : undefined,
    };
    return this.#spending.alone(stated, async () => {
      const reservation = await this.#spending.reserve({ intent, parameters, service: this.issuer }, stated, bounds);
      try {
        const result = await run();
        await this.#spending.settle(reservation, intent, stated, result.charge);
        await record?.end(statedIn(result));
        return result;
      } catch (error) {
        const found = statedBy(error);
        await this.#spending.settle(reservation, intent, stated, found.charge, error);
        await record?.end(found);
        throw error;
      }
    });
  }

  /** Verifies the receipt of a result: its signature, and that it is for this call, its output and its charge. */
  async checkReceipt(result: Result, intent: string, parameters: object = {}): Promise<CheckedReceipt> {
    const { charge, receipt } = result;
    if (!charge || !receipt) {
      const detail = charge?.state === "pending" ? "the charge is pending: there is no receipt yet" : "there is no receipt";
      return { ok: false, problems: [{ name: "CHARGED_WITHOUT_RECEIPT", detail }], entry: undefined };
    }
    return this.#receipts.check(receipt, await this.#receipts.known(charge, intent, parametersOf(parameters), statedIn(result)), intent);
  }

  /** #stated returns the price under the agreed policy. */
  async #stated(intent: string): Promise<Price> {
    const session = this.#agreements.session;
    if (!session) return { kind: "unknown" };
    if (this.#policy?.digest !== session.policyDigest) {
      const policy = await Policy.read(session.policy, session.agents, () => Promise.reject(new OptionsError("call policy()")));
      this.#policy = { digest: session.policyDigest, policy };
    }
    return this.#policy.policy.priceOf(intent);
  }
}

function statedIn(result: Result): Stated {
  const { charge, receipt, replayed, tokenId } = result;
  return { charge, receipt, replayed, tokenId, answer: result };
}

function parametersOf(parameters: object): JsonObject {
  try {
    const plain = plainJson(parameters);
    if (isObject(plain)) return plain;
  } catch (error) {
    throw new ParametersError(`the parameters cannot be sent: ${(error as JsonError).message}`);
  }
  throw new ParametersError("the parameters cannot be sent: want an object");
}

function checkOptions(options: ExecuteOptions): void {
  if (options.idempotencyKey !== undefined && !/^[\x21-\x7e]{1,128}$/.test(options.idempotencyKey)) {
    throw new OptionsError("idempotencyKey must have 1 to 128 visible ASCII characters");
  }
  if (options.requestId !== undefined && !/^[A-Za-z0-9._-]{1,64}$/.test(options.requestId)) {
    throw new OptionsError("requestId must have 1 to 64 characters of A-Z a-z 0-9 . _ -");
  }
  if (options.traceparent !== undefined && !/^[0-9a-f-]{1,128}$/.test(options.traceparent))
    throw new OptionsError("traceparent is invalid");
}

/** checkNames checks that an agents.json found by DNS uses only names of its domain. */
function checkNames(catalog: Catalog, domain: string): void {
  for (const name of [catalog.issuer, ...catalog.intents.map((intent) => intent.uid.split(":")[0] ?? "")]) {
    if (name !== domain && !name.endsWith(`.${domain}`)) {
      throw new DiscoveryError(
        `the DNS records of ${domain} point to an agents.json with a name that the domain does not vouch for: it was not used`,
      );
    }
  }
}
