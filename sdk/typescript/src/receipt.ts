import type { Connection } from "./agreement.js";
import type { Result } from "./call.js";
import { fromBase64, utf8 } from "./encoding.js";
import { isObject, type JsonObject, parseObject } from "./json.js";
import { nanoOf } from "./money.js";
import type { Session } from "./session.js";
import { executeDigest, jwsPart } from "./sign.js";
import { clean } from "./text.js";

/** A receipt after its verification. Neither a missing receipt nor a wrong one makes a call fail. */
export interface CheckedReceipt {
  /** Whether there is a receipt with a valid signature that fits the call and its charge. */
  readonly ok: boolean;
  /** What contradicts the call, its charge or the signature; empty if ok. */
  readonly problems: string[];
  /** The entry of the ledger that the receipt signs; undefined without a valid signature. */
  readonly entry: JsonObject | undefined;
}

const MAX_KEYS = 100;
const MAX_KEY_SET = 1 << 20;
const PAUSE_MS = 60_000;

/** The keys of a service for receipts. The first ones that the client gets are trusted from then on. */
export class ReceiptKeys {
  #keys = new Map<string, CryptoKey>();
  #fetched = 0;

  constructor(readonly c: Connection) {}

  /** Fetches the keys, unless the client trusts some already. A service without them has no receipts. */
  async pin(): Promise<void> {
    const now = this.c.settings.now();
    if (this.#keys.size > 0 || (this.#fetched > 0 && now < this.#fetched + PAUSE_MS)) return;
    this.#fetched = now;
    try {
      const answer = await this.c.exchanger.document({
        method: "GET", url: this.c.catalog.endpoints.jwks, from: this.c.agents, headers: { Accept: "application/json" }, maxBytes: MAX_KEY_SET,
        timeoutMs: this.c.settings.timeoutMs ?? 10_000,
      });
      const set = answer.status === 200 ? parseObject(answer.text).keys : [];
      const keys = (Array.isArray(set) ? set : []).slice(0, MAX_KEYS).filter(isObject);
      for (const { uim_purpose: purpose, kid, kty, crv, x } of keys) {
        if (purpose !== "receipt" || typeof kid !== "string" || kty !== "OKP" || crv !== "Ed25519" || typeof x !== "string") continue;
        this.#keys.set(kid, await crypto.subtle.importKey("jwk", { kty, crv, x }, { name: "Ed25519" }, true, ["verify"]));
      }
    } catch {
      // The receipts then have an unknown key, which their check reports.
    }
  }

  /** Returns the entry of a receipt whose signature is valid. */
  async entry(receipt: string): Promise<JsonObject | undefined> {
    await this.pin();
    const header = jwsPart(receipt, 0);
    const key = typeof header?.kid === "string" ? this.#keys.get(header.kid) : undefined;
    const [head = "", payload = "", signature = ""] = receipt.split(".");
    const bytes = fromBase64(signature);
    if (!key || !bytes || header?.typ !== "uim-receipt+jwt" || header.alg !== "EdDSA" || header.crit !== undefined || header.b64 !== undefined) return undefined;
    const valid = await crypto.subtle.verify({ name: "Ed25519" }, key, bytes, utf8(`${head}.${payload}`));
    return valid ? jwsPart(receipt, 1) : undefined;
  }
}

/** Verifies the receipt of a result against the call. */
export async function checkReceipt(keys: ReceiptKeys, session: Session | undefined, result: Result, intent: string, parameters: JsonObject): Promise<CheckedReceipt> {
  const { charge, receipt } = result;
  if (!receipt) return { ok: false, problems: [charge?.state === "pending" ? "the charge is pending: there is no receipt yet" : "there is no receipt"], entry: undefined };
  const entry = receipt.length > 16 << 10 ? undefined : await keys.entry(receipt);
  if (!entry) return { ok: false, problems: ["the signature of the receipt is not valid, or its key is not known"], entry: undefined };
  const account = isObject(entry.account) ? entry.account : {};
  const problems: string[] = [];
  const check = (what: string, got: unknown, want: unknown): void => {
    if (got !== want) problems.push(`the receipt states ${what} ${clean(String(got))}, not ${clean(String(want))}`);
  };
  check("the version", entry.v, "uim-entry-1");
  check("the kind", entry.kind, "charge");
  check("the issuer", entry.iss, keys.c.catalog.issuer);
  check("the agent", account.agent, keys.c.settings.agentId);
  check("the intent", entry.intent, intent);
  check("the request", entry.req, `sha-256:${await executeDigest(intent, parameters)}`);
  check("the key", entry.jkt, keys.c.settings.key.thumbprint);
  if (session && !result.replayed) check("the policy", entry.pol, session.policyDigest);
  if (charge) {
    check("the execution", entry.id, charge.id);
    check("the currency", account.currency, charge.currency);
    check("the amount", typeof entry.amount === "string" ? nanoOf(entry.amount) : undefined, nanoOf(charge.amount));
    check("the state", entry.to, charge.state);
  }
  return { ok: problems.length === 0, problems, entry };
}
