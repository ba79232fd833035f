import type { Agreements, Connection } from "./agreement.js";
import type { Book } from "./book.js";
import type { Charge } from "./charge.js";
import { LostError, RefusalError, ResponseError } from "./errors.js";
import type { Mark } from "./follow.js";
import type { JsonObject } from "./json.js";
import { type CheckedReceipt, type KnownCall, outputDigests, type ReceiptKeys } from "./receipt.js";
import type { CallAnswer } from "./result.js";
import { executeDigest } from "./sign.js";
import type { Successions } from "./succession.js";

const MAX_RECEIPT = 16 << 10;
const FETCH_MS = 5000;

/** What a response states about the charge of a call. */
export interface Stated {
  charge: Charge | undefined;
  receipt?: string | undefined;
  replayed?: boolean | undefined;
  /** jti of the token that the call was made with; undefined if it is unknown. */
  tokenId?: string | undefined;
  /** The output; undefined if it is unknown. */
  answer?: Pick<CallAnswer, "text" | "output"> | undefined;
}

/** Returns what an error states about the charge of a call. */
export function statedBy(error: unknown): Stated {
  const inner = error instanceof LostError ? error.cause : error;
  if (inner instanceof RefusalError) return { charge: inner.charge, receipt: inner.receipt, replayed: inner.replayed };
  return { charge: inner instanceof ResponseError ? inner.charge : undefined };
}

/** Checks the receipts of calls, and keeps them in the book of the client, if it has one. */
export class Receipts {
  constructor(
    private readonly c: Connection,
    private readonly agreements: Agreements,
    private readonly keys: ReceiptKeys,
    readonly book: Book | undefined,
    private readonly successions: Successions,
  ) {}

  /** Returns the record of a call; undefined if the client keeps no receipts. */
  record(intent: string, parameters: JsonObject, free: boolean): CallRecord | undefined {
    return this.book && new CallRecord(this, this.book, this.c, intent, parameters, free);
  }

  /** Returns what the client knows of a call that was charged. */
  async known(charge: Charge, intent: string, parameters: JsonObject, stated: Stated): Promise<KnownCall> {
    const session = this.agreements.session;
    return {
      iss: this.c.catalog.issuer,
      agent: this.c.settings.agentId,
      id: charge.id,
      amount: charge.amount,
      currency: charge.currency,
      state: charge.state,
      req: `sha-256:${await executeDigest(intent, parameters)}`,
      ...(stated.answer ? await outputDigests(stated.answer) : {}),
      pat: stated.tokenId ?? session?.tokenId,
      pol: session?.policyDigest,
      agr: session?.agreementId,
      jkt: this.c.settings.key.thumbprint,
      replayed: stated.replayed,
    };
  }

  /**
   * Checks a receipt, and compares its amount with the policy that it names. It sets known.pol_next if this is another policy with the same
   * terms.
   */
  async check(receipt: string, known: KnownCall, intent: string): Promise<CheckedReceipt> {
    known.pol_next = await this.successions.successor(receipt, intent);
    const checked = await this.keys.check(receipt, known);
    if (!checked.entry || !(await this.successions.contradicts(checked.entry, known.pol_next))) return checked;
    const problem = { name: "AMOUNT", detail: "the charge is not the price that the policy states at the rule" };
    return { ...checked, ok: false, problems: [...checked.problems, problem] };
  }

  /** Fetches the receipt of an execution. It returns an empty string if the service does not send it. */
  async fetch(id: string): Promise<string> {
    const url = this.c.catalog.endpoints.receipts.replace("{execution_id}", encodeURIComponent(id));
    const session = this.agreements.session;
    if (url === "" || !session) return "";
    try {
      const answer = await this.c.exchanger.authenticated({
        method: "GET",
        url,
        from: this.c.agents,
        headers: { Accept: "application/uim-receipt+jwt", Authorization: `Bearer ${session.token}` },
        maxBytes: MAX_RECEIPT,
        timeoutMs: FETCH_MS,
      });
      return answer.status === 200 ? answer.text.trim() : "";
    } catch {
      return "";
    }
  }
}

/** The record of one call, from before it is sent until its charge is known. Neither a receipt nor the book makes a call fail. */
export class CallRecord {
  #mark: Mark | undefined;
  #failure: unknown;

  constructor(
    private readonly of: Receipts,
    private readonly book: Book,
    private readonly c: Connection,
    private readonly intent: string,
    private readonly parameters: JsonObject,
    private readonly free: boolean,
  ) {}

  /** Records that the call is about to be sent, unless it is free. Call it before each attempt. */
  async begin(): Promise<void> {
    if (this.free) return;
    try {
      const req = `sha-256:${await executeDigest(this.intent, this.parameters)}`;
      const mark = await this.book.begin(req, this.c.settings.now());
      this.#mark ??= mark;
    } catch (error) {
      this.#failure = error;
    }
  }

  /** Checks the receipt of a charge, fetches it if the response has none, and records both. It reports problems to onWarning. */
  async end(stated: Stated): Promise<void> {
    const { charge } = stated;
    if (!charge) return;
    try {
      await this.account(charge, stated);
    } catch (error) {
      this.warn("FILE", `the receipt was not stored: ${(error as Error).message}`);
    }
  }

  private async account(charge: Charge, stated: Stated): Promise<void> {
    const known = await this.of.known(charge, this.intent, this.parameters, stated);
    const receipt = stated.receipt || (charge.state === "pending" ? "" : await this.of.fetch(charge.id));
    let checked: CheckedReceipt = { ok: true, problems: [], entry: undefined };
    if (receipt) checked = await this.of.check(receipt, known, this.intent);
    else if (charge.state !== "pending") {
      checked.problems.push({ name: "CHARGED_WITHOUT_RECEIPT", detail: "the service charged the call, and sent no receipt" });
    }
    let problems = checked.problems;
    try {
      if (this.#failure) throw this.#failure;
      const call = { ...known, intent: this.intent };
      problems = await this.book.add(this.#mark, call, receipt, checked.entry !== undefined, problems, this.c.settings.now());
    } finally {
      for (const problem of problems) this.warn(problem.name, problem.detail);
    }
  }

  private warn(name: string, detail: string): void {
    this.c.settings.onWarning(`the receipt of a call of ${this.intent}: ${name}: ${detail}`);
  }
}
