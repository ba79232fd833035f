import { fromBase64, sha256 } from "./encoding.js";
import { isObject, type JsonObject } from "./json.js";
import type { ReceiptProblem } from "./receipt.js";
import { jwsPart } from "./sign.js";

/** The position of an entry: its epoch, and its number in the chain of the account. */
interface Place {
  epoch: number;
  k: number;
}

/** The place of the newest entry that was recorded before a call, by currency. */
export type Mark = Map<string, Place>;

/** The members of a receipt that place it in a chain. */
export interface Link extends Place {
  agent: string;
  currency: string;
  prev: string;
  /** Hash of the entry as a leaf of a Merkle tree (RFC 6962, section 2.1). */
  leaf: string;
}

/** The problems of receipts that the service did not make for the agent. */
const UNSIGNED = new Set(["SIGNATURE", "KEY", "AGREEMENT", "UNKNOWN_EXECUTION"]);

/** Returns the receipt in a record of a book; undefined if it has none that the service made for the agent. */
export async function linkIn({ receipt, problems }: JsonObject): Promise<Link | undefined> {
  if (typeof receipt !== "string" || receipt === "") return undefined;
  if (Array.isArray(problems) && problems.some((p) => isObject(p) && UNSIGNED.has(String(p.name)))) return undefined;
  const entry = jwsPart(receipt, 1);
  const payload = fromBase64(receipt.split(".")[1] ?? "");
  const account = entry?.account;
  if (!entry || !payload || !isObject(account) || !Number.isSafeInteger(entry.k)) return undefined;
  const { agent, currency } = account;
  const epoch = entry.epoch ?? 0;
  if (typeof agent !== "string" || typeof currency !== "string" || typeof epoch !== "number") return undefined;
  const prev = typeof entry.prev === "string" ? entry.prev : "";
  return { agent, currency, epoch, k: entry.k as number, prev, leaf: await leafHash(payload) };
}

async function leafHash(entry: Uint8Array): Promise<string> {
  const leaf = new Uint8Array(entry.length + 1);
  leaf.set(entry, 1);
  return sha256(leaf);
}

/** Returns the places of the newest entries. */
export function newest(links: Link[]): Mark {
  const mark: Mark = new Map();
  for (const { currency, epoch, k } of links) {
    const found = mark.get(currency);
    if (!found || isAfter({ epoch, k }, found)) mark.set(currency, { epoch, k });
  }
  return mark;
}

function isAfter(a: Place, b: Place): boolean {
  return a.epoch > b.epoch || (a.epoch === b.epoch && a.k > b.k);
}

/** Compares a receipt with earlier ones of the account, as the Go client does. mark has the places before the call. */
export function follow(mark: Mark, replayed: boolean, e: Link, earlier: Link[]): ReceiptProblem[] {
  const problems: ReceiptProblem[] = [];
  let known = false;
  for (const other of earlier) {
    if (other.agent !== e.agent || other.currency !== e.currency) continue;
    if (other.k === e.k && other.leaf === e.leaf) known = true;
    else if (other.k === e.k) problems.push({ name: "FORK", detail: `another receipt also has the number ${e.k}` });
    else if ((other.k === e.k - 1 && other.leaf !== e.prev) || (other.k === e.k + 1 && other.prev !== e.leaf)) {
      const [low, high] = [Math.min(e.k, other.k), Math.max(e.k, other.k)];
      problems.push({ name: "FORK", detail: `the receipts ${low} and ${high} do not follow each other` });
    }
  }
  const last = mark.get(e.currency);
  if (replayed || !last || problems.length > 0) return problems;
  if (known && !isAfter(e, last)) return [{ name: "DUPLICATE", detail: "it is the receipt of an earlier call" }];
  if (e.epoch > last.epoch && e.k <= last.k) {
    const detail = `the receipt has the number ${e.k}, and number ${last.k} existed before the call`;
    return [{ name: "EPOCH", detail: `the service has restored an earlier state: ${detail}` }];
  }
  if (e.k <= last.k || e.epoch < last.epoch) {
    const detail = `the receipt has the number ${e.k} in epoch ${e.epoch}, and number ${last.k} in epoch ${last.epoch} existed before the call`;
    return [{ name: "ORDER", detail }];
  }
  return problems;
}
