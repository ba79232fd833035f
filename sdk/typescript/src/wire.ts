import { type Charge, chargeOf, parseCharge } from "./charge.js";
import { RefusalError } from "./errors.js";
import { isObject, type Json, type JsonObject, parseObject } from "./json.js";
import { readRefusal, refusalOf } from "./refusal.js";

/** The extension of A2A for proofs and charges. */
const EXTENSION = "https://uimprotocol.com/a2a/v1";

/** A call in a request of HTTP, MCP or A2A. */
export interface WireCall {
  readonly intent: string;
  readonly parameters: JsonObject;
  /** The idempotency key in the request; empty if it has none. */
  readonly key: string;
  /** Whether the request has a proof. */
  readonly proved: boolean;
}

/** Finds the call in a request to a service; undefined if the request is not a call. names contains the UIDs by the names of tools. */
export function callIn(url: URL, executeUrl: string, body: string, names: ReadonlyMap<string, string>): WireCall | undefined {
  let message: JsonObject;
  try {
    message = parseObject(body);
  } catch {
    return undefined; // not JSON, or without a canonical form: the service refuses what needs a proof
  }
  const execute = new URL(executeUrl);
  if (url.origin === execute.origin && url.pathname === execute.pathname) return bare(message, "");
  if (url.origin === execute.origin && url.pathname.startsWith(`${execute.pathname}/`)) {
    return bare({ ...message, intent_uid: decodeURIComponent(url.pathname.slice(execute.pathname.length + 1)) }, "");
  }
  const params = isObject(message.params) ? message.params : {};
  if (message.method === "tools/call") return toolCall(params, names);
  if (message.method === "SendMessage" || message.method === "SendStreamingMessage") return inMessage(params.message);
  if (/\/message:(send|stream)$/.test(url.pathname)) return inMessage(message.message);
  return undefined;
}

function bare(body: JsonObject, key: string): WireCall | undefined {
  if (typeof body.intent_uid !== "string") return undefined;
  const parameters = body.parameters ?? {};
  return isObject(parameters) ? { intent: body.intent_uid, parameters, key, proved: body.proof !== undefined } : undefined;
}

/** toolCall reads tools/call of MCP. A tool is named by its name or its UID; call_intent names another one in its arguments. */
function toolCall(params: JsonObject, names: ReadonlyMap<string, string>): WireCall | undefined {
  const meta = isObject(params._meta) ? params._meta : {};
  const parameters = params.arguments ?? {};
  if (typeof params.name !== "string" || !isObject(parameters)) return undefined;
  const key = meta["Idempotency-Key"];
  const beside = { key: typeof key === "string" ? key : "", proved: meta["UIM-Proof"] !== undefined };
  if (params.name === "call_intent" && !names.has("call_intent")) {
    const named = typeof parameters.uid === "string" ? (names.get(parameters.uid) ?? parameters.uid) : null;
    const call = bare({ intent_uid: named, parameters: parameters.parameters ?? {} }, "");
    return call && { ...call, ...beside };
  }
  const intent = names.get(params.name) ?? params.name;
  return intent.includes(":") ? { intent, parameters, ...beside } : undefined;
}

/** inMessage reads an A2A message: its only part has the body of an execute call, as data or as text. Its id is its key. */
function inMessage(message: Json | undefined): WireCall | undefined {
  if (!isObject(message) || !Array.isArray(message.parts) || message.parts.length !== 1) return undefined;
  const part = message.parts[0];
  const metadata = isObject(message.metadata) && isObject(message.metadata[EXTENSION]) ? message.metadata[EXTENSION] : {};
  let data = isObject(part) ? part.data : undefined;
  if (isObject(part) && typeof part.text === "string") {
    try {
      data = parseObject(part.text);
    } catch {
      return undefined;
    }
  }
  const call = isObject(data) ? bare(data, typeof message.messageId === "string" ? `a2a:${message.messageId}` : "") : undefined;
  return call && { ...call, proved: call.proved || metadata.proof !== undefined };
}

/** The outcome of a call in a response: its charge with the receipt, and its error. */
export interface WireOutcome {
  charge: Charge | undefined;
  error: RefusalError | undefined;
  receipt?: string | undefined;
  /** Whether the response is that of an earlier call under the same key. */
  replayed?: boolean;
}

/** Reads the outcome of a call from a response of HTTP, MCP or A2A, or from the events of its stream. */
export function outcomeIn(status: number, headers: Headers, text: string): WireOutcome {
  const found = chargeAndError(status, headers, text);
  return {
    ...found,
    receipt: found.receipt ?? headers.get("uim-receipt") ?? found.error?.receipt,
    replayed: found.replayed || found.error?.replayed || headers.get("idempotency-replayed")?.toLowerCase() === "true",
  };
}

function chargeAndError(status: number, headers: Headers, text: string): WireOutcome {
  const charge = parseCharge(headers.get("uim-charge"));
  const messages = /^text\/event-stream/i.test(headers.get("content-type") ?? "")
    ? text
        .split(/\r?\n/)
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5))
    : [text];
  for (const message of messages.reverse()) {
    let tree: JsonObject;
    try {
      tree = parseObject(message, { number: Number });
    } catch {
      continue;
    }
    const found = findIn(status, headers, tree);
    if (found.charge || found.error) return { ...found, charge: found.charge ?? charge };
  }
  return { charge, error: status >= 400 ? readRefusal({ status, headers, text }) : undefined };
}

function findIn(status: number, headers: Headers, tree: JsonObject): WireOutcome {
  const result = isObject(tree.result) ? tree.result : tree;
  const meta = isObject(result._meta) ? result._meta : {};
  const envelope = errorIn(tree) ?? errorIn(result);
  const task = isObject(result.task) ? result.task : result;
  const inMeta = parseCharge(typeof meta["UIM-Charge"] === "string" ? meta["UIM-Charge"] : null);
  return {
    ...(inMeta ? { charge: inMeta } : chargeInTask(task)),
    error: envelope && refusalOf(status >= 400 ? status : 400, headers, envelope),
  };
}

/** errorIn finds the error of UIM in a result: of JSON-RPC, of a tool, or in the status of a task. */
function errorIn(tree: JsonObject): JsonObject | undefined {
  if (isObject(tree.error)) {
    const { data } = tree.error;
    if (isObject(data) && isObject(data.error)) return data.error;
    return isObject(tree.error.details) || typeof tree.error.code === "string" ? tree.error : { message: tree.error.message ?? "" };
  }
  if (tree.isError === true && Array.isArray(tree.content)) {
    for (const block of tree.content.filter(isObject)) {
      if (typeof block.text !== "string" || !block.text.startsWith("{")) continue;
      try {
        const inner = parseObject(block.text, { number: Number });
        if (isObject(inner.error)) return inner.error;
      } catch {
        continue;
      }
    }
  }
  const task = isObject(tree.task) ? tree.task : tree;
  const message = isObject(task.status) && isObject(task.status.message) ? task.status.message : {};
  const parts = Array.isArray(message.parts) ? message.parts.filter(isObject) : [];
  const data = parts.map((part) => part.data).find((d): d is JsonObject => isObject(d) && isObject(d.error));
  return data && (data.error as JsonObject);
}

function chargeInTask(task: JsonObject): Omit<WireOutcome, "error"> {
  const holders = [...(Array.isArray(task.artifacts) ? task.artifacts : []), isObject(task.status) ? (task.status.message ?? null) : null];
  for (const holder of holders.filter(isObject)) {
    const about = isObject(holder.metadata) ? holder.metadata[EXTENSION] : undefined;
    const charge = isObject(about) ? chargeOf(about.charge) : undefined;
    if (!isObject(about) || !charge) continue;
    return { charge, receipt: typeof about.receipt === "string" ? about.receipt : undefined, replayed: about.replayed === true };
  }
  return { charge: undefined };
}
