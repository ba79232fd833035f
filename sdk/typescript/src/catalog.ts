import { DiscoveryError } from "./errors.js";
import { isObject, type Json, type JsonObject, JsonError, parseObject } from "./json.js";
import { clean } from "./text.js";

/** An operation that a service offers, as its agents.json describes it. */
export interface Intent {
  /** namespace:name:version. */
  readonly uid: string;
  readonly name: string;
  readonly description: string;
  /** Whether calls change nothing. */
  readonly safe: boolean;
  /** The price in agents.json, such as 0.05 EUR; empty if there is none. It is only informative; the policy is binding. */
  readonly price: string;
  /** Maximum duration of a call, in seconds. */
  readonly timeout: number;
  /** Whether the intent is retired. */
  readonly retired: boolean;
  /** JSON Schema of the parameters, an object. */
  readonly inputSchema: JsonObject;
  /** The complete description, as the service sent it. */
  readonly raw: JsonObject;
}

/** The addresses of a service. */
export interface Endpoints {
  readonly agents: string;
  readonly policy: string;
  readonly execute: string;
  readonly search: string;
  readonly issue: string;
  readonly renew: string;
  readonly revoke: string;
  readonly jwks: string;
  /** Empty if the service has no such endpoint. */
  readonly mcp: string;
  readonly a2a: string;
  readonly receipts: string;
}

/** The contents of an agents.json. */
export interface Catalog {
  readonly issuer: string;
  readonly intents: readonly Intent[];
  readonly endpoints: Endpoints;
  /** The policy that takes effect next, if the service announces one. */
  readonly successor: { uid: string; digest: string; url: string; from: string } | undefined;
}

const MAX_INTENTS = 20_000;
const UID = /^[^\s:]{1,253}:[^\s:]{1,128}:[^\s:]{1,64}$/;
/** Members of a parameter that are not keywords of its schema. */
const NOT_SCHEMA = new Set(["name", "from", "constraints", "required"]);

/** Reads an agents.json from a URL. It throws a DiscoveryError if the document is not one. */
export function readCatalog(text: string, at: URL): Catalog {
  let tree: JsonObject;
  try {
    tree = parseObject(text, { number: Number }); // prices and limits are for information: no digest is made of them
  } catch (error) {
    throw new DiscoveryError(`${at.origin} did not send an agents.json: ${(error as JsonError).message}`);
  }
  if (!Array.isArray(tree.intents) || tree.intents.length > MAX_INTENTS) {
    throw new DiscoveryError(`${at.origin} did not send an agents.json: it has no list of at most ${MAX_INTENTS} intents`);
  }
  const endpoints = readEndpoints(tree, at);
  const intents = tree.intents
    .filter(isObject)
    .map(readIntent)
    .filter((intent) => UID.test(intent.uid));
  const issuer = textOf(tree["uim-issuer"]) || intents[0]?.uid.split(":")[0] || at.hostname;
  return { issuer, intents, endpoints, successor: readSuccessor(tree.policy_successor) };
}

function readEndpoints(tree: JsonObject, at: URL): Endpoints {
  const base = at.href.replace(/(\/\.well-known)?\/[^/]*$/, "");
  const named = (name: string, path = ""): string => textOf(tree[name]) || (path && `${base}/${path}`);
  return {
    agents: at.href,
    policy: named("uim-policy-file", "api/policy"),
    execute: named("uim-api-execute", "api/intents/execute"),
    search: named("uim-api-discovery", "api/intents/search"),
    issue: named("uim-pat-issue", "api/pat/issue"),
    renew: named("uim-pat-renew", "api/pat/renew"),
    revoke: named("uim-pat-revoke", "api/pat/revoke"),
    jwks: named("uim-jwks", ".well-known/jwks.json"),
    mcp: named("uim-mcp"),
    a2a: named("uim-a2a"),
    receipts: named("uim-receipts"),
  };
}

function readIntent(raw: JsonObject): Intent {
  const endpoint = isObject(raw.endpoint) ? raw.endpoint : {};
  const timeout = typeof raw["x-timeout"] === "number" ? raw["x-timeout"] : 0;
  return {
    uid: textOf(raw.intent_uid),
    name: clean(raw.intent_name),
    description: clean(raw.description),
    price: clean(raw.price),
    raw,
    safe: typeof raw.safe === "boolean" ? raw.safe : endpoint.method === "GET" || endpoint.method === "HEAD",
    timeout: Math.min(Math.max(timeout, 10), 3600),
    retired: raw.retired === true,
    inputSchema: schemaOf(raw.input_parameters),
  };
}

/** schemaOf returns the JSON Schema of the parameters of an intent. */
function schemaOf(parameters: Json | undefined): JsonObject {
  const properties: JsonObject = {};
  const required: string[] = [];
  for (const p of (Array.isArray(parameters) ? parameters : []).slice(0, 256).filter(isObject)) {
    const name = textOf(p.name);
    if (name === "" || name === "__proto__") continue;
    const keywords = Object.entries(p).filter(([keyword]) => !NOT_SCHEMA.has(keyword));
    properties[name] = { ...Object.fromEntries(keywords), ...(isObject(p.constraints) ? p.constraints : {}) };
    if (Array.isArray(p.required)) (properties[name] as JsonObject).required = p.required;
    else if (p.required === true) required.push(name);
  }
  return { type: "object", properties, required, additionalProperties: false };
}

function readSuccessor(value: Json | undefined): Catalog["successor"] {
  if (!isObject(value)) return undefined;
  return { uid: textOf(value.uid), digest: textOf(value.digest), url: textOf(value.url), from: textOf(value.from) };
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" && value.length <= 2048 ? value : "";
}
