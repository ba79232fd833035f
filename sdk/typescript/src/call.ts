import { type Agreements, changed, type Connection } from "./agreement.js";
import { LostError, NetworkError, RefusalError } from "./errors.js";
import type { JsonObject } from "./json.js";
import type { CallRecord } from "./record.js";
import { readRefusal } from "./refusal.js";
import { type CallAnswer, readResult } from "./result.js";
import type { Session } from "./session.js";
import { executeDigest, randomId, signProof } from "./sign.js";

/** The response to a call. */
export interface Result extends CallAnswer {
  /** Key under which the call can be repeated; empty if it has none. */
  readonly idempotencyKey: string;
  /** Number of times that the call was sent. */
  readonly attempts: number;
  /** jti of the token that the call was made with. */
  readonly tokenId: string;
}

/** The values that all attempts of a call share. */
export interface CallPlan {
  intent: string;
  parameters: JsonObject;
  /** Empty: the call has no key, and is not repeated once it may have taken effect. */
  idempotencyKey: string;
  /** Whether the caller chose the key. */
  ownKey: boolean;
  prove: boolean;
  requestId: string;
  traceparent: string;
  timeoutMs: number;
  signal: AbortSignal | undefined;
  /** Undefined if the client keeps no receipts. */
  record: CallRecord | undefined;
}

const FIRST_BACKOFF = 250;
const MAX_BACKOFF = 8000;

/** Sends a call until it has an outcome. It repeats the call only if the service cannot execute or charge it twice. */
export class Call {
  #attempts = 0;
  #repeats = 0;
  #waited = 0;
  #maybeDone = false;
  #renewed = false;
  #provedAgain = false;
  #body: string;

  constructor(
    private readonly c: Connection,
    private readonly agreements: Agreements,
    private readonly plan: CallPlan,
  ) {
    this.#body = JSON.stringify({ intent_uid: plan.intent, parameters: plan.parameters });
  }

  /** Whether a proof was added, because the call needs one or the service requested one. */
  get proved(): boolean {
    return this.plan.prove;
  }

  /** Runs the call. Errors: those of this package. A LostError means that an earlier attempt may have taken effect. */
  async run(): Promise<Result> {
    for (;;) {
      let session: Session;
      let error: unknown;
      try {
        session = await this.agreements.current();
      } catch (e) {
        throw this.lost(e);
      }
      try {
        return await this.attempt(session);
      } catch (e) {
        error = e;
      }
      const wait = await this.next(error, session);
      if (wait === undefined) throw this.lost(changed(error, session.policyDigest));
      if (wait > 0) {
        await this.c.settings.sleep(wait, this.plan.signal).catch((e: unknown) => {
          throw this.lost(e);
        });
      }
    }
  }

  private async attempt(session: Session): Promise<Result> {
    const { plan, c } = this;
    const headers: Record<string, string> = {
      Accept: "application/json",
      "Content-Type": "application/json",
      Authorization: `Bearer ${session.token}`,
    };
    if (plan.idempotencyKey) headers["Idempotency-Key"] = plan.idempotencyKey;
    if (plan.requestId) headers["UIM-Request-ID"] = plan.requestId;
    if (plan.traceparent) headers.traceparent = plan.traceparent;
    if (plan.prove) headers["UIM-Proof"] = await proofOf(c, session, plan.intent, plan.parameters);
    await plan.record?.begin();
    plan.signal?.throwIfAborted();
    this.#attempts++;
    const answer = await c.exchanger
      .authenticated({
        method: "POST",
        url: c.catalog.endpoints.execute,
        from: c.agents,
        headers,
        body: this.#body,
        maxBytes: c.settings.maxAnswer,
        timeoutMs: plan.timeoutMs,
        signal: plan.signal,
      })
      .catch((error: unknown) => {
        if (plan.signal?.aborted) this.#maybeDone = true; // it is not known how far the request got
        throw error;
      });
    if (answer.status >= 300) throw readRefusal(answer);
    return { ...readResult(answer), idempotencyKey: plan.idempotencyKey, attempts: this.#attempts, tokenId: session.tokenId };
  }

  /** next returns the milliseconds to wait before the next attempt; undefined if there is none. */
  private async next(error: unknown, session: Session): Promise<number | undefined> {
    if (error instanceof RefusalError) return this.afterRefusal(error, session);
    if (!(error instanceof NetworkError)) return undefined;
    if (error.sent && !this.plan.idempotencyKey) return undefined; // it may have taken effect
    this.#maybeDone ||= error.sent;
    return this.repeat(undefined);
  }

  private async afterRefusal(e: RefusalError, session: Session): Promise<number | undefined> {
    const { plan } = this;
    if (e.replayed) return undefined; // every repetition gets the same response
    if (e.is("POLICY_REQUIRES_VERIFICATION") && !plan.prove) {
      plan.prove = true;
      return 0;
    }
    if (e.is("PROOF_REPLAYED") && plan.prove && !this.#provedAgain) {
      this.#provedAgain = true;
      return 0;
    }
    if (e.is("EXPIRED_TOKEN", "REVOKED_TOKEN", "INVALID_TOKEN") && !this.#renewed) {
      this.#renewed = true;
      return (await this.replaced(e, session)) ? 0 : undefined;
    }
    if (e.is("IDEMPOTENCY_IN_PROGRESS")) return this.await(Math.max((e.retryAfter ?? 0) * 1000, 1000));
    if (e.status === 429) return e.is("QUOTA_EXCEEDED") ? undefined : this.repeat(e.retryAfter);
    return e.status >= 500 ? this.afterFailure(e) : undefined;
  }

  /** replaced reports whether there is a new token after the service has refused the token of a session. */
  private async replaced(e: RefusalError, session: Session): Promise<boolean> {
    if (this.agreements.session && this.agreements.session.token !== session.token) return true; // another call has renewed it
    if (await this.agreements.load()) return true; // another process has
    if (!e.is("EXPIRED_TOKEN")) return false; // a revocation was deliberate
    await this.agreements.renew(session).catch((error: unknown) => {
      throw this.lost(error);
    });
    return true;
  }

  private afterFailure(e: RefusalError): number | undefined {
    const { plan } = this;
    const ended = e.outcome === "not_sent" || e.outcome === "failed";
    if (e.outcome === "done" || e.outcome === "unknown" || (e.outcome === "failed" && e.status !== 503)) return undefined;
    if (ended && plan.ownKey) return undefined; // the key of the caller would get the same response
    if (ended && plan.idempotencyKey && !this.#maybeDone) plan.idempotencyKey = randomId();
    if (ended || e.status === 503) return this.repeat(e.retryAfter);
    if (!plan.idempotencyKey) return undefined;
    this.#maybeDone = true;
    return this.repeat(e.retryAfter);
  }

  private repeat(retryAfter: number | undefined): number | undefined {
    const { maxAttempts, maxWaitMs } = this.c.settings;
    if (++this.#repeats >= maxAttempts) return undefined;
    const backoff = Math.min(FIRST_BACKOFF * 2 ** (this.#repeats - 1), MAX_BACKOFF);
    const wait = retryAfter ? retryAfter * 1000 : backoff / 2 + Math.random() * (backoff / 2);
    return this.waits(wait, maxWaitMs);
  }

  /** await waits for a call under the same key that is still running, for at most the time that the intent may take. */
  private await(wait: number): number | undefined {
    return this.waits(wait, Math.max(this.c.settings.maxWaitMs, this.plan.timeoutMs));
  }

  private waits(wait: number, most: number): number | undefined {
    if (this.#waited + wait > most) return undefined;
    this.#waited += wait;
    return wait;
  }

  /**
   * lost wraps an error in a LostError if an earlier attempt may have taken effect. It does not wrap the response that was stored under the
   * key.
   */
  private lost(error: unknown): unknown {
    if (!this.#maybeDone || error instanceof LostError || (error instanceof RefusalError && error.replayed)) return error;
    return new LostError(error as Error, this.plan.idempotencyKey);
  }
}

/** Returns the proof of a call under a session. */
export async function proofOf(c: Connection, session: Session, intent: string, parameters: JsonObject): Promise<string> {
  return signProof(c.settings.key, {
    audience: session.issuer,
    tokenId: session.tokenId,
    digest: await executeDigest(intent, parameters),
    issuedAt: c.clock.seconds(),
    id: randomId(),
  });
}
