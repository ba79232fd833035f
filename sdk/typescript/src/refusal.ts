import { chargeOf, parseCharge } from "./charge.js";
import { type Outcome, RefusalError, type Violation } from "./errors.js";
import type { Answer } from "./exchange.js";
import { isObject, type Json, type JsonObject, parseObject } from "./json.js";
import { MAX_WAIT, parseRateLimit, retryAfter } from "./ratelimit.js";
import { clean, codeName, identifier, isDigest } from "./text.js";

const MAX_VIOLATIONS = 64;
const MAX_CHANGES = 20;
const OUTCOMES: readonly string[] = ["not_sent", "failed", "done", "unknown"];

/** Reads the error in a response. A response that is not an error of UIM, such as the page of a proxy, has only its status. */
export function readRefusal(answer: Pick<Answer, "status" | "headers" | "text">): RefusalError {
  return refusalOf(answer.status, answer.headers, errorOf(answer));
}

function errorOf(answer: Pick<Answer, "headers" | "text">): JsonObject {
  if (!/json/i.test(answer.headers.get("content-type") ?? "")) return {};
  try {
    const body = parseObject(answer.text, { number: Number });
    if (isObject(body.error)) return body.error;
    return { message: typeof body.error === "string" ? body.error : body.detail ?? body.message ?? "" };
  } catch {
    return {};
  }
}

/** Returns the error of an envelope {code, message, details}. */
export function refusalOf(status: number, headers: Headers, error: JsonObject): RefusalError {
  const details = isObject(error.details) ? error.details : {};
  const policy = isObject(details.policy) ? details.policy : {};
  const wait = retryAfter(headers) ?? (typeof details.retry_after === "number" ? Math.min(Math.max(details.retry_after, 0), MAX_WAIT) : undefined);
  const charge = parseCharge(headers.get("uim-charge")) ?? chargeOf(details.charge);
  const rateLimit = parseRateLimit(headers);
  const receipt = headers.get("uim-receipt") ?? (typeof details.receipt === "string" ? details.receipt : undefined);
  return new RefusalError({
    status, details, code: codeName(error.code), reason: codeName(details.reason), message: clean(error.message),
    suggestion: clean(details.suggestion), violations: violationsOf(details.violations), helpUrl: helpOf(details.help_url),
    requestId: identifier(headers.get("uim-request-id")) || identifier(details.request_id),
    replayed: headers.get("idempotency-replayed") === "true", changes: changesOf(details.changes),
    offered: isDigest(policy.digest) ? policy.digest : "",
    ...(wait === undefined ? {} : { retryAfter: wait }),
    ...(OUTCOMES.includes(String(details.outcome)) ? { outcome: details.outcome as Outcome } : {}),
    ...(charge ? { charge } : {}), ...(rateLimit ? { rateLimit } : {}), ...(receipt ? { receipt } : {}),
  });
}

function violationsOf(value: Json | undefined): Violation[] {
  const list = Array.isArray(value) ? value.slice(0, MAX_VIOLATIONS).filter(isObject) : [];
  return list.map((v) => ({
    pointer: clean(v.pointer), reason: codeName(v.reason), message: clean(v.message),
    ...(codeName(v.keyword) ? { keyword: codeName(v.keyword) } : {}), ...(v.nearest ? { nearest: clean(v.nearest) } : {}),
    ...(Array.isArray(v.known) ? { known: v.known.slice(0, MAX_VIOLATIONS).map(clean) } : {}),
  }));
}

function changesOf(value: Json | undefined): string[] {
  const list = Array.isArray(value) ? value.slice(0, MAX_CHANGES).filter(isObject) : [];
  return list.map((change) => `${clean(change.about)} ${clean(change.text)}`.trim()).filter(Boolean);
}

function helpOf(value: Json | undefined): string {
  return typeof value === "string" && /^https?:\/\/[\x21-\x7e]{1,512}$/.test(value) ? value : "";
}
