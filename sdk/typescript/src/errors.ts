import type { Charge } from "./charge.js";
import type { Json, JsonObject } from "./json.js";
import type { RateLimit } from "./ratelimit.js";
import type { Reason } from "./reasons.js";

/** The base of all errors of this package. No message contains a token, a key or the value of a parameter. */
export class UimError extends Error {
  override name = "UimError";
}

/** An option or an argument is wrong. Nothing was sent. */
export class OptionsError extends UimError {
  override name = "OptionsError";
}

/** The parameters of a call have no form in JSON that all parsers read in the same way. Nothing was sent. */
export class ParametersError extends UimError {
  override name = "ParametersError";
}

/** A key cannot be used. The message never quotes the key. */
export class KeyError extends UimError {
  override name = "KeyError";
}

/** A file cannot be used. The message never quotes its contents. */
export class FileError extends UimError {
  override name = "FileError";
}

/** No agents.json was found. */
export class DiscoveryError extends UimError {
  override name = "DiscoveryError";
}

/** The client rejects a URL: it is not https, or a document of the public internet refers to this machine or to a private address. */
export class AddressError extends UimError {
  override name = "AddressError";
}

/** A service uses a name that its host may not use. Nothing was signed. */
export class IssuerError extends UimError {
  override name = "IssuerError";
  constructor(
    readonly issuer: string,
    readonly host: string,
  ) {
    super(
      `${host} requests an agreement made out to ${issuer}, which is not its own name: nothing was signed. ` +
        "If you trust it with that name, pass it as issuer to agree()",
    );
  }
}

/** There is no agreement with the service. */
export class NotAgreedError extends UimError {
  override name = "NotAgreedError";
  constructor() {
    super("there is no agreement with this service: read its policy, and call agree()");
  }
}

/** The service offers a policy other than the accepted one. Nothing was signed. */
export class PolicyChangedError extends UimError {
  override name = "PolicyChangedError";
  /**
   * agreed and offered are digests; offered is empty if the service does not state it. changes describes the changes in the words of the
   * service.
   */
  constructor(
    readonly agreed: string,
    readonly offered: string,
    readonly changes: string[] = [],
    options?: ErrorOptions,
  ) {
    super(
      `the policy has changed: ${agreed} was accepted` +
        (offered ? `, but the service now offers ${offered}` : "") +
        ", which was not signed. Read the new policy, and call agree() if it is acceptable",
      options,
    );
  }
}

/** The operator of the service must approve the agent first. Call agree() again later, at most once a minute. */
export class PendingError extends UimError {
  override name = "PendingError";
  constructor(readonly agreementId: string) {
    super(`the agreement ${agreementId} waits for the operator of the service to approve it: call agree() again later`);
  }
}

/** A call would exceed a budget, or it costs something and there is no budget. Nothing was sent. */
export class BudgetError extends UimError {
  override name = "BudgetError";
}

/** The approve callback declined a call. Nothing was sent. */
export class ApprovalError extends UimError {
  override name = "ApprovalError";
}

/** An exchange failed without a response. If sent is true, the request may have taken effect. */
export class NetworkError extends UimError {
  override name = "NetworkError";
  constructor(
    message: string,
    readonly sent: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A response cannot be used: it is too large, not JSON, or incomplete. If sent is true, the request may have taken effect. */
export class ResponseError extends UimError {
  override name = "ResponseError";
  constructor(
    message: string,
    readonly sent: boolean,
    readonly charge?: Charge,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A service redirects a request that carries a token or a signature. The client did not follow. */
export class RedirectError extends UimError {
  override name = "RedirectError";
}

/** An earlier attempt of a call may have taken effect, although the last one failed. The cause is the error of the last attempt. */
export class LostError extends UimError {
  override name = "LostError";
  constructor(
    cause: Error,
    readonly idempotencyKey: string,
  ) {
    super(
      `${cause.message}; an earlier attempt, whose response was lost, may have taken effect. ` +
        "Repeat the call with the same idempotencyKey to learn its outcome",
      { cause },
    );
  }
}

/** A call was not sent because the token could not be renewed. The cause is the error of the renewal. */
export class RenewalError extends UimError {
  override name = "RenewalError";
  constructor(cause: Error) {
    super(`the call was not sent, because the token could not be renewed: ${cause.message}`, { cause });
  }
}

/** An error in one parameter. */
export interface Violation {
  /** JSON pointer into the body, such as /parameters/quantity. */
  pointer: string;
  reason: string;
  message: string;
  keyword?: string;
  /** The limit that the value violates, such as the number of the keyword maximum. */
  limit?: Json;
  known?: string[];
  nearest?: string;
}

/** Whether a call that was refused took effect. */
export type Outcome = "not_sent" | "failed" | "done" | "unknown";

/** The members of a RefusalError. */
export interface Refusal {
  status: number;
  code: string;
  reason: Reason | (string & {});
  message: string;
  suggestion: string;
  violations: Violation[];
  requestId: string;
  helpUrl: string;
  details: JsonObject;
  replayed: boolean;
  changes: string[];
  offered: string;
  retryAfter?: number;
  outcome?: Outcome;
  charge?: Charge;
  rateLimit?: RateLimit;
  receipt?: string;
  uimCode: string;
  upstream: string;
}

/**
 * A service refused a request, or failed. Decide by reason. Texts come from the service; they are limited in length, and have no control
 * characters.
 */
export class RefusalError extends UimError {
  override name = "RefusalError";
  /** HTTP status. */
  readonly status: number;
  /** Class of the reason, such as INVALID_PARAMETER; empty if the service gives none. */
  readonly code: string;
  /** details.reason, the exact cause; empty if the service gives none. */
  readonly reason: Reason | (string & {});
  readonly suggestion: string;
  readonly violations: Violation[];
  /** Seconds to wait before the same request; undefined if the service does not state it. */
  readonly retryAfter: number | undefined;
  readonly outcome: Outcome | undefined;
  readonly charge: Charge | undefined;
  readonly rateLimit: RateLimit | undefined;
  readonly requestId: string;
  readonly helpUrl: string;
  /** Whether this is the response stored for an earlier call under the same idempotency key. */
  readonly replayed: boolean;
  /** The complete error.details, as the service sent it. */
  readonly details: JsonObject;
  /** The changes since the agreement, in the words of the service. */
  readonly changes: string[];
  /** Digest of the policy that the service now offers; empty if it does not state it. */
  readonly offered: string;
  /** The signed receipt of the charge, unchecked. */
  readonly receipt: string | undefined;
  /** The number of the reason in the specification of UIM, such as UIM-VAL-001; empty if the service gives none. */
  readonly uimCode: string;
  /** The message of the API behind the service; empty if the service does not state it. */
  readonly upstream: string;

  constructor(r: Refusal) {
    super(`${r.reason || r.code || `the service responded with ${r.status}`}${r.message ? `: ${r.message}` : ""}`);
    this.status = r.status;
    this.code = r.code;
    this.reason = r.reason;
    this.suggestion = r.suggestion;
    this.violations = r.violations;
    this.retryAfter = r.retryAfter;
    this.outcome = r.outcome;
    this.charge = r.charge;
    this.rateLimit = r.rateLimit;
    this.requestId = r.requestId;
    this.helpUrl = r.helpUrl;
    this.replayed = r.replayed;
    this.details = r.details;
    this.changes = r.changes;
    this.offered = r.offered;
    this.receipt = r.receipt;
    this.uimCode = r.uimCode;
    this.upstream = r.upstream;
  }

  /** Reports whether the reason is one of these. If the service gives no reason, it compares the code. */
  is(...reasons: (Reason | (string & {}))[]): boolean {
    return reasons.includes(this.reason || this.code);
  }
}
