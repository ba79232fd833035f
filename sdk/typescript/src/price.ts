import { isObject, type Json, type JsonObject, listOf } from "./json.js";
import { type Amount, amountOf, nanoOf } from "./money.js";

/**
 * The price of a call under a policy. free: the call costs nothing. paid: it costs at most that amount. unknown: the policy uses terms that
 * this package does not read as a price. forbidden: no permission has the intent as its target.
 */
export type Price = { readonly kind: "free" | "unknown" | "forbidden" } | { readonly kind: "paid"; readonly most: Amount };

/** Duties that cost no money. */
const UNPAID = new Set(["signPayload", "attribute", "logUsage", "inform", "acceptTracking"]);
/** Members of a permission that can be read, or that do not change its price. */
const PERMISSION = new Set([
  "uid",
  "@id",
  "@type",
  "type",
  "target",
  "action",
  "duty",
  "constraint",
  "assignee",
  "assigner",
  "rdfs:label",
  "rdfs:comment",
  "comment",
]);
const DUTY = new Set([
  "uid",
  "@id",
  "@type",
  "type",
  "action",
  "amount",
  "unit",
  "target",
  "constraint",
  "assignee",
  "assigner",
  "comment",
]);

/** Returns the maximum price of a call. It assumes that the conditions of permissions hold, so the price is never too low. */
export function priceOf(policy: JsonObject, intent: string): Price {
  const permissions = listOf(policy.permission);
  if (policy["@graph"] !== undefined || policy.inheritFrom !== undefined || listOf(policy.obligation).length > 0)
    return { kind: "unknown" };
  let most: Amount | undefined;
  let permitted = false;
  for (const permission of permissions) {
    if (!isObject(permission)) return { kind: "unknown" };
    if (permission.target === undefined) return { kind: "unknown" };
    if (!listOf(permission.target).some((target) => means(target, intent))) continue;
    permitted = true;
    const price = priceOfPermission(permission);
    if (price === "unknown" || (price && most && price.currency !== most.currency)) return { kind: "unknown" };
    if (price && (!most || (nanoOf(price.amount) ?? 0n) > (nanoOf(most.amount) ?? 0n))) most = price;
  }
  if (!permitted) return { kind: "forbidden" };
  return most ? { kind: "paid", most } : { kind: "free" };
}

/** priceOfPermission returns the sum of the duties to pay; undefined if there is none. */
function priceOfPermission(permission: JsonObject): Amount | undefined | "unknown" {
  if (Object.keys(permission).some((name) => !PERMISSION.has(name))) return "unknown";
  let sum: Amount | undefined;
  for (const duty of listOf(permission.duty)) {
    if (!isObject(duty) || Object.keys(duty).some((name) => !DUTY.has(name))) return "unknown";
    const action = last(nameOf(duty.action));
    if (UNPAID.has(action)) continue;
    const number = typeof duty.amount === "number" ? String(duty.amount) : duty.amount;
    if (action !== "pay" || duty.constraint !== undefined || typeof number !== "string" || sum) return "unknown";
    sum = amountOf(number, last(nameOf(duty.unit)));
    if (!sum) return "unknown";
    if (nanoOf(sum.amount) === 0n) sum = undefined;
  }
  return sum;
}

/** means reports whether a target names an intent, or all intents. */
function means(target: Json, intent: string): boolean {
  const name = nameOf(target);
  return name === intent || name.endsWith(`/api/intents/${intent}`) || name.endsWith("/api/intents");
}

function nameOf(value: Json | undefined): string {
  if (typeof value === "string") return value;
  const name = isObject(value) ? (value["@id"] ?? value.uid ?? value["@value"] ?? value["rdf:value"]) : undefined;
  if (isObject(name)) return nameOf(name);
  return typeof name === "string" ? name : "";
}

/** last returns the last part of an address. */
function last(name: string): string {
  return name.split(/[/#:]/).pop() ?? "";
}
