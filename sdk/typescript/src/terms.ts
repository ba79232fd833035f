import { canonical, isObject, type Json, type JsonObject, listOf } from "./json.js";

/** Members of a policy, without its rules, that apply to all rules. */
const GOVERNING = new Set(["context", "uid", "id", "type", "conflict", "inheritFrom", "target", "action", "assigner", "assignee"]);
const RULES = new Set(["permission", "prohibition", "obligation"]);
const INTENT = /^[^:/\t\n\f\r ]+:[^:/\t\n\f\r ]+:v[0-9]+$/;

/**
 * Reports whether two policies have the same terms for an intent, so that an agreement to one of them holds for the intent under the other.
 * The terms are the rules that can apply to the intent, in any order, and the members that apply to all rules. They are compared as text in
 * RFC 8785 form: different terms may mean the same.
 */
export function sameTerms(before: JsonObject, after: JsonObject, intent: string): boolean {
  const [first, second] = [before, after].map((policy) => termsOf(policy, intent).sort()) as [string[], string[]];
  return first.length === second.length && first.every((term, n) => term === second[n]);
}

function termsOf(policy: JsonObject, intent: string): string[] {
  const terms: string[] = [];
  for (const [name, value] of Object.entries(policy)) {
    const local = localName(name);
    if (GOVERNING.has(local)) terms.push(local + canonical(value));
    if (!RULES.has(local)) continue;
    for (const rule of listOf(value)) {
      const own = isObject(rule) ? ruleFor(rule, intent) : rule;
      if (own !== undefined) terms.push(local + canonical(own));
    }
  }
  return terms;
}

/** ruleFor returns a rule without its uid and, if its targets are intents, without them; undefined if it applies only to other intents. */
function ruleFor(rule: JsonObject, intent: string): JsonObject | undefined {
  const own: JsonObject = {};
  const targets: Json[] = [];
  for (const [name, value] of Object.entries(rule)) {
    const local = localName(name);
    if (local === "target") targets.push(...listOf(value));
    else if (local !== "uid" && local !== "id") own[name] = value;
  }
  const names = targets.map(nameOf);
  if (names.length === 0 || names.some((name) => !INTENT.test(name))) return { ...own, target: targets }; // everything, or a collection
  return names.includes(intent) ? own : undefined;
}

/** nameOf returns what a target names: a string, or the uid of an object without other members. */
function nameOf(value: Json): string {
  const [only, ...more] = isObject(value) ? Object.entries(value) : [];
  if (only && more.length === 0 && ["uid", "id"].includes(localName(only[0]))) value = only[1];
  return typeof value === "string" ? value : "";
}

/** Returns the name of a member without the prefix of a vocabulary and the @ of JSON-LD. */
export function localName(name: string): string {
  return name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("#"), name.lastIndexOf(":")) + 1).replace(/^@/, "");
}
