import { type Charge, chargeOf, parseCharge } from "./charge.js";
import { ResponseError } from "./errors.js";
import type { Answer } from "./exchange.js";
import { isObject, type Json, type JsonObject, parseJson } from "./json.js";
import { parseRateLimit, type RateLimit } from "./ratelimit.js";
import { identifier, isDigest } from "./text.js";

const MAX_LINK = 8 << 10;

/** When an intent or its terms end (RFC 8594, section 3). */
export interface Sunset {
  readonly at: Date;
  /** Whether only the terms end, and the intent continues under new ones. */
  readonly terms: boolean;
  /** UID of the intent that replaces this one; undefined if the service names none, or if only the terms end. */
  readonly replacedBy: string | undefined;
  /** Digest of the policy with the new terms, for policy() and agree(); undefined if the service names none, or if the intent itself ends. */
  readonly nextPolicy: string | undefined;
}

/** The contents of a response to a call. */
export interface CallAnswer {
  /** The output of the intent. */
  readonly output: Json;
  /** The output as JSON text, as the service sent it. It preserves numbers that JavaScript would round. */
  readonly text: string;
  readonly status: number;
  /** The charge of the call; undefined if the service does not state one. */
  readonly charge: Charge | undefined;
  /** The limits that the call counted under. */
  readonly rateLimit: RateLimit | undefined;
  /** The signed receipt of the charge. UimClient.checkReceipt verifies it. */
  readonly receipt: string | undefined;
  /** Identifies the call in the log of the service. */
  readonly requestId: string;
  /** Whether this is the stored response of an earlier call under the same key. If so, this call executed nothing. */
  readonly replayed: boolean;
  /** Undefined if the service announces no end. */
  readonly sunset: Sunset | undefined;
}

/** Reads a response of status 2xx. It throws a ResponseError if the call was made and its response cannot be used. */
export function readResult(answer: Pick<Answer, "status" | "headers" | "text">): CallAnswer {
  const { status, headers } = answer;
  const charge = parseCharge(headers.get("uim-charge"));
  const kind = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const found: CallAnswer = {
    output: {},
    text: "{}",
    status,
    charge,
    rateLimit: parseRateLimit(headers),
    receipt: headers.get("uim-receipt") ?? undefined,
    requestId: identifier(headers.get("uim-request-id")),
    replayed: headers.get("idempotency-replayed")?.toLowerCase() === "true",
    sunset: sunsetOf(headers),
  };
  if (answer.text.trim() === "") return found;
  let output: Json;
  try {
    output = parseJson(answer.text, { number: Number });
  } catch (error) {
    const why = kind === "" || /json|text\/plain|octet-stream/.test(kind) ? (error as Error).message : `it is ${kind}, not JSON`;
    throw new ResponseError(`the call was made, but its response cannot be read: ${why}`, true, charge);
  }
  if (!isObject(output) || !enveloped(kind, output)) return { ...found, output, text: answer.text };
  const meta = isObject(output.meta) ? output.meta : {};
  return {
    ...found,
    output: output.data as Json,
    text: JSON.stringify(output.data),
    charge: charge ?? chargeOf(meta.charge),
    receipt: found.receipt ?? (typeof meta.receipt === "string" ? meta.receipt : undefined),
  };
}

/** enveloped reports whether a body is {status, data, meta} around the output. */
function enveloped(kind: string, body: JsonObject): boolean {
  if (body.status !== "success" || body.data === undefined) return false;
  return kind === "application/uim+json" || Object.keys(body).every((name) => name === "status" || name === "data" || name === "meta");
}

function sunsetOf(headers: Headers): Sunset | undefined {
  const at = Date.parse(headers.get("sunset") ?? "");
  if (Number.isNaN(at)) return undefined;
  const terms = headers.has("deprecation");
  const next = successorOf(headers);
  const digest = next?.searchParams.get("digest");
  const uid = uidIn(next);
  return {
    at: new Date(at),
    terms,
    replacedBy: terms || !/^[^\s:]{1,253}:[^\s:]{1,128}:[^\s:]{1,64}$/.test(uid) ? undefined : uid,
    nextPolicy: terms && isDigest(digest) ? digest : undefined,
  };
}

function uidIn(url: URL | undefined): string {
  try {
    return decodeURIComponent(url?.pathname.split("/").pop() ?? "");
  } catch {
    return "";
  }
}

/** successorOf returns the URL of the link to the successor (RFC 5829, section 3.4). */
function successorOf(headers: Headers): URL | undefined {
  for (const [, target = ""] of (headers.get("link") ?? "").slice(0, MAX_LINK).matchAll(/<([^<>]*)>\s*;\s*rel="?successor-version"?/g)) {
    if (URL.canParse(target)) return new URL(target);
  }
  return undefined;
}
