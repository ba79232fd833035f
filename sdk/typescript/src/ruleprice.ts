import { isObject, type Json, type JsonObject, listOf } from "./json.js";
import { nanoOf } from "./money.js";
import { localName } from "./terms.js";

/** The most sums that are compared for one rule. */
const MAX_TOTALS = 1024;
/** Codes of currencies that policies name by the last part of an address. */
const CURRENCIES = new Map([
  ["Euro", "EUR"],
  ["United_States_dollar", "USD"],
  ["Pound_sterling", "GBP"],
  ["Japanese_yen", "JPY"],
  ["Swiss_franc", "CHF"],
]);

/**
 * Reports whether a policy states an amount, in billionths of a unit, as the price of a rule: the sum of the payments in the duties of the
 * rule and in the obligations of the policy. Payments under conditions may be owed or not. rule is the uid of a permission, or a JSON
 * pointer (RFC 6901) to it. It returns undefined if the policy does not have the rule.
 */
export function statesPrice(policy: JsonObject, rule: string, nano: bigint, currency: string): boolean | undefined {
  const found = rule.startsWith("/") ? ruleAt(policy, rule) : ruleNamed(policy, rule, true);
  if (!found) return undefined;
  let totals = [0n];
  const add = (duty: Json, binds: boolean): void => {
    const payment = paymentOf(duty);
    if (payment?.currency !== currency) return;
    const next = new Set(totals.map((total) => total + payment.nano).filter((total) => total <= nano));
    if (!payment.always || !binds) for (const total of totals) next.add(total);
    totals = [...next].sort((a, b) => (a < b ? -1 : 1)).slice(0, MAX_TOTALS);
  };
  for (const duty of listOf(memberOf(found, "duty"))) add(duty, true);
  for (const obligation of listOf(memberOf(policy, "obligation"))) {
    if (isObject(obligation)) add(obligation, memberOf(obligation, "target", "assignee") === undefined);
  }
  return totals.includes(nano);
}

/** ruleAt returns the object at a JSON pointer (RFC 6901, section 4). */
function ruleAt(policy: JsonObject, pointer: string): JsonObject | undefined {
  let value: Json | undefined = policy;
  for (const part of pointer.slice(1).split("/")) {
    const token = part.replace(/~[01]/g, (escape) => (escape === "~1" ? "/" : "~"));
    if (Array.isArray(value)) value = /^(0|[1-9][0-9]{0,8})$/.test(token) ? value[Number(token)] : undefined;
    else value = isObject(value) && Object.hasOwn(value, token) ? value[token] : undefined;
  }
  return isObject(value) ? value : undefined;
}

/** ruleNamed returns an object with a uid inside a value, which is not the value itself if top is set. */
function ruleNamed(value: Json, uid: string, top: boolean): JsonObject | undefined {
  if (!isObject(value) && !Array.isArray(value)) return undefined;
  if (isObject(value) && !top && Object.keys(value).length > 1 && (value.uid === uid || value["@id"] === uid)) return value;
  const inner = isObject(value) ? Object.keys(value).sort().map((name) => value[name] as Json) : value;
  for (const item of inner) {
    const found = ruleNamed(item, uid, false);
    if (found) return found;
  }
  return undefined;
}

/** The payment that a duty requires. always: no condition decides whether it is owed. */
interface Payment {
  nano: bigint;
  currency: string;
  always: boolean;
}

/** paymentOf returns the payment that a duty requires; undefined if it requires none. */
function paymentOf(duty: Json): Payment | undefined {
  if (!isObject(duty)) return undefined;
  const action = listOf(memberOf(duty, "action")).find((a) => ["pay", "compensate"].includes(actionName(a)));
  if (action === undefined) return undefined;
  let always = true;
  let paid = memberOf(duty, "amount");
  let unit = memberOf(duty, "unit", "currency");
  if (isObject(paid)) {
    unit ??= memberOf(paid, "unit", "currency");
    paid = valueOf(paid);
  }
  const constraints = [...listOf(memberOf(duty, "constraint")), ...(isObject(action) ? listOf(memberOf(action, "refinement")) : [])];
  for (const constraint of constraints) {
    const o = isObject(constraint) ? constraint : {};
    const left = valueOf(memberOf(o, "leftOperand"));
    const name = typeof left === "string" ? localName(left) : "";
    if (name === "payAmount") {
      paid = valueOf(memberOf(o, "rightOperand"));
      unit = memberOf(o, "unit") ?? unit;
    } else if (name !== "unitOfCount") always = false;
  }
  const code = valueOf(unit);
  const short = typeof code === "string" ? localName(code) : "";
  const currency = CURRENCIES.get(short) ?? short;
  const number = typeof paid === "number" ? String(paid) : paid;
  const nano = typeof number === "string" ? nanoOf(number) : undefined;
  return nano === undefined || !/^[A-Z]{3}$/.test(currency) ? undefined : { nano, currency, always };
}

function actionName(action: Json): string {
  const name = isObject(action) ? valueOf(memberOf(action, "value") ?? action) : action;
  return typeof name === "string" ? localName(name) : "";
}

/** memberOf returns the member with one of some names, which may have the prefix of a vocabulary; undefined if it is absent or null. */
function memberOf(o: JsonObject, ...names: string[]): Json | undefined {
  const name = Object.keys(o).sort().find((n) => names.includes(localName(n)));
  return name === undefined ? undefined : (o[name] ?? undefined);
}

/** valueOf returns the value or the address in an object of JSON-LD, and any other value unchanged. */
function valueOf(value: Json | undefined): Json | undefined {
  if (!isObject(value)) return value;
  for (const name of ["@value", "@id", "value"]) if (Object.hasOwn(value, name) && value[name] !== null) return value[name];
  return undefined;
}
