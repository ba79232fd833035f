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
  const kind = answer.headers.get("content-type") ?? "";
  if (kind !== "" && !/json|text\/plain|octet-stream/i.test(kind)) return {};
  try {
    const body = parseObject(answer.text, { number: Number });
    if (isObject(body.error)) return body.error;
    return typeof body.error === "string" ? { message: body.error } : foreign(body);
  } catch {
    return {};
  }
}

/** foreign returns the error in a document of another protocol or framework, such as RFC 9457. */
function foreign(body: JsonObject): JsonObject {
  const { code = null, message, detail, title } = body;
  for (const text of [message, detail, title]) {
    if (isObject(text)) return text;
    if (typeof text === "string" && clean(text) !== "") return { code, message: text };
    if (!Array.isArray(text)) continue; // FastAPI: [{"loc": […], "msg": "…"}]
    const violations = text.filter(isObject).map(({ loc, msg }) => ({ pointer: pointerOf(loc), message: msg ?? "" }));
    return { code, message: "the request does not match the schema of the service", details: { violations } };
  }
  return { code };
}

/** pointerOf converts ["body", "parameters", "city"] into a JSON pointer. */
function pointerOf(loc: Json | undefined): string {
  const parts = (Array.isArray(loc) ? loc : [])
    .slice(0, 16)
    .filter((part) => typeof part === "string" || typeof part === "number")
    .map(String);
  if (parts[0] === "body") parts.shift();
  return parts.map((part) => `/${clean(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Returns the error of an envelope {code, message, details}. */
export function refusalOf(status: number, headers: Headers, error: JsonObject): RefusalError {
  const details = isObject(error.details) ? error.details : {};
  const policy = isObject(details.policy) ? details.policy : {};
  const wait =
    retryAfter(headers) ?? (typeof details.retry_after === "number" ? Math.min(Math.max(details.retry_after, 0), MAX_WAIT) : undefined);
  const charge = parseCharge(headers.get("uim-charge")) ?? chargeOf(details.charge);
  const rateLimit = parseRateLimit(headers);
  const receipt = headers.get("uim-receipt") ?? (typeof details.receipt === "string" ? details.receipt : undefined);
  return new RefusalError({
    status,
    details,
    code: codeName(error.code),
    reason: codeName(details.reason),
    message: clean(error.message),
    suggestion: clean(details.suggestion),
    violations: violationsOf(details.violations),
    helpUrl: helpOf(details.help_url),
    requestId: identifier(headers.get("uim-request-id")) || identifier(details.request_id),
    uimCode: codeName(details.uim_code),
    upstream: isObject(details.upstream) ? clean(details.upstream.message) : "",
    replayed: headers.get("idempotency-replayed")?.toLowerCase() === "true",
    changes: changesOf(details.changes),
    offered: isDigest(policy.digest) ? policy.digest : "",
    ...(wait === undefined ? {} : { retryAfter: wait }),
    ...(OUTCOMES.includes(String(details.outcome)) ? { outcome: details.outcome as Outcome } : {}),
    ...(charge ? { charge } : {}),
    ...(rateLimit ? { rateLimit } : {}),
    ...(receipt ? { receipt } : {}),
  });
}

function violationsOf(value: Json | undefined): Violation[] {
  const list = Array.isArray(value) ? value.slice(0, MAX_VIOLATIONS).filter(isObject) : [];
  return list.map((v) => ({
    pointer: clean(v.pointer),
    reason: codeName(v.reason),
    message: clean(v.message),
    ...(v.limit === undefined ? {} : { limit: v.limit }),
    ...(codeName(v.keyword) ? { keyword: codeName(v.keyword) } : {}),
    ...(v.nearest ? { nearest: clean(v.nearest) } : {}),
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
