import type { Connection } from "./agreement.js";
import type { Book } from "./book.js";
import type { Result } from "./call.js";
import { canonicalDigest, fromBase64, sha256, utf8 } from "./encoding.js";
import { isObject, type Json, type JsonObject, parseObject } from "./json.js";
import { nanoOf } from "./money.js";
import { nodeCrypto } from "./platform.js";
import { jwsPart } from "./sign.js";
import { clean } from "./text.js";

/**
 * What contradicts a call: SIGNATURE, KEY, AGREEMENT, UNKNOWN_EXECUTION, CHARGED_WITHOUT_RECEIPT, AMOUNT, STATE, REQUEST, ANSWER or POLICY;
 * with the option receipts also FORK, ORDER, DUPLICATE and EPOCH.
 */
export interface ReceiptProblem {
  readonly name: string;
  readonly detail: string;
}

/** A receipt after its verification. Neither a missing receipt nor a wrong one makes a call fail. */
export interface CheckedReceipt {
  /** Whether there is a receipt that has a valid signature and matches the call and its charge. */
  readonly ok: boolean;
  readonly problems: ReceiptProblem[];
  /** The signed entry of the ledger, if it is for this call; otherwise undefined. */
  readonly entry: JsonObject | undefined;
}

/** The agent's record of a call. Undefined members are not compared. */
export interface KnownCall {
  iss: string;
  agent: string;
  id: string;
  amount: string;
  currency: string;
  state: string;
  req?: string | undefined;
  ans?: string | undefined;
  ans_jcs?: string | undefined;
  pol?: string | undefined;
  /** Digest of another policy that has the same terms for the intent as pol. */
  pol_next?: string | undefined;
  agr?: string | undefined;
  pat?: string | undefined;
  jkt?: string | undefined;
  replayed?: boolean | undefined;
}

const MAX_KEYS = 100;
const MAX_KEY_SET = 1 << 20;
const MAX_RECEIPT = 16 << 10;
const PAUSE_MS = 60_000;

/** The keys with which a service signs, by purpose. */
export class KeySet {
  #keys = new Map<string, CryptoKey>();
  #jwks = new Map<string, JsonObject>();

  get size(): number {
    return this.#keys.size;
  }

  /** Adds an Ed25519 key; others sign no receipts. */
  async add(purpose: string, kid: string, jwk: JsonObject): Promise<void> {
    const { kty, crv, x } = jwk;
    if (kty !== "OKP" || crv !== "Ed25519" || typeof x !== "string") return;
    if ((await canonicalDigest({ crv, kty, x })) !== kid) return;
    this.#keys.set(`${purpose} ${kid}`, await crypto.subtle.importKey("jwk", { kty, crv, x }, { name: "Ed25519" }, true, ["verify"]));
    this.#jwks.set(`${purpose} ${kid}`, { alg: "EdDSA", crv, kid, kty, uim_purpose: purpose, use: "sig", x });
  }

  /** Adds the keys for receipts and for the log in the members of a JWKS. */
  async addAll(members: JsonObject[]): Promise<void> {
    for (const { uim_purpose: purpose, kid, ...jwk } of members.slice(0, MAX_KEYS)) {
      if ((purpose === "receipt" || purpose === "log") && typeof kid === "string") await this.add(purpose, kid, jwk);
    }
  }

  /** Returns the keys as a JWKS, ordered by purpose and id. */
  jwks(): JsonObject {
    return { keys: [...this.#jwks.keys()].sort().map((place) => this.#jwks.get(place) as JsonObject) };
  }

  /** Returns the payload of a receipt that a key of a purpose has signed; otherwise the name of the problem. */
  async verify(purpose: string, receipt: string): Promise<JsonObject | "SIGNATURE" | "KEY"> {
    const header = receipt.length > MAX_RECEIPT ? undefined : jwsPart(receipt, 0);
    const [head = "", payload = "", signature = ""] = receipt.split(".");
    const bytes = fromBase64(signature);
    const extended = ["crit", "b64", "zip", "enc"].some((name) => header?.[name] !== undefined);
    if (!header || !bytes || extended || header.typ !== "uim-receipt+jwt" || header.alg !== "EdDSA") return "SIGNATURE";
    const key = typeof header.kid === "string" ? this.#keys.get(`${purpose} ${header.kid}`) : undefined;
    if (!key) return "KEY";
    const valid = await verified(key, bytes, utf8(`${head}.${payload}`));
    return (valid && jwsPart(receipt, 1)) || "SIGNATURE";
  }

  /** Adds the key of an entry of kind key, if a key of this set for the same purpose has signed the entry. It reports whether it did. */
  async introduce(text: string): Promise<boolean> {
    const purpose = jwsPart(text, 1)?.purpose;
    const entry = typeof purpose === "string" ? await this.verify(purpose, text) : "SIGNATURE";
    if (typeof entry === "string" || entry.kind !== "key" || !isObject(entry.jwk) || typeof entry.kid !== "string") return false;
    const { kty, crv, x } = entry.jwk;
    if ((await canonicalDigest({ crv: crv ?? null, kty: kty ?? null, x: x ?? null })) !== entry.kid) return false;
    const before = this.size;
    await this.add(entry.purpose as string, entry.kid, entry.jwk);
    return this.size > before;
  }
}

/** verified verifies a signature of Ed25519. */
async function verified(key: CryptoKey, signature: Uint8Array<ArrayBuffer>, data: Uint8Array<ArrayBuffer>): Promise<boolean> {
  if (nodeCrypto) return nodeCrypto.verify(null, data, nodeCrypto.KeyObject.from(key), signature);
  return crypto.subtle.verify({ name: "Ed25519" }, key, signature, data);
}

/** The keys of a service that a client trusts: those of an agreement, which its book keeps, and those that trusted keys introduce. */
export class ReceiptKeys {
  #set = new KeySet();
  #fetched = 0;

  constructor(
    readonly c: Connection,
    readonly book: Book | undefined,
  ) {}

  /** Reads the keys that the book has. */
  async load(): Promise<void> {
    const members = (await this.book?.trusted())?.keys;
    if (Array.isArray(members)) await this.#set.addAll(members.filter(isObject));
  }

  /**
   * Trusts the keys that the service has at present, unless the client already trusts some. With again, as after an agreement, they replace
   * those. A service without keys has no receipts.
   */
  async pin(again = false): Promise<void> {
    if (this.#set.size > 0 && !again) return;
    const found = new KeySet();
    await found.addAll(await this.fetch());
    if (found.size === 0) return;
    this.#set = found;
    await this.keep();
  }

  /** keep records the keys. Without that record, offline checks report an unknown key, until the agent agrees again. */
  private async keep(): Promise<void> {
    await this.book?.trust(this.#set.jwks(), this.c.settings.now()).catch((error: unknown) => {
      this.c.settings.onWarning(`the keys for receipts were not stored: ${(error as Error).message}`);
    });
  }

  private async fetch(): Promise<JsonObject[]> {
    const now = this.c.settings.now();
    if (this.#fetched > 0 && now < this.#fetched + PAUSE_MS) return [];
    this.#fetched = now;
    try {
      const answer = await this.c.exchanger.document({
        method: "GET",
        url: this.c.catalog.endpoints.jwks,
        from: this.c.agents,
        headers: { Accept: "application/json" },
        maxBytes: MAX_KEY_SET,
        timeoutMs: this.c.settings.timeoutMs ?? 10_000,
      });
      const set = answer.status === 200 ? parseObject(answer.text).keys : [];
      return (Array.isArray(set) ? set : []).slice(0, MAX_KEYS).filter(isObject);
    } catch {
      return []; // the check of a receipt then reports an unknown key
    }
  }

  /** Checks a receipt. If its key is unknown, it fetches the keys of the service, which can introduce the key. */
  async check(receipt: string, call: KnownCall): Promise<CheckedReceipt> {
    await this.pin();
    const checked = await checkReceipt(this.#set, receipt, call);
    if (checked.problems[0]?.name !== "KEY") return checked;
    let waiting = (await this.fetch()).map((key) => key.uim_entry).filter((entry) => typeof entry === "string");
    const before = this.#set.size;
    for (let found = true; found && waiting.length > 0;) {
      // a new key may introduce a further one
      found = false;
      for (const entry of waiting) {
        if (!(await this.#set.introduce(entry))) continue;
        found = true;
        waiting = waiting.filter((other) => other !== entry);
      }
    }
    if (this.#set.size > before) await this.keep();
    return checkReceipt(this.#set, receipt, call);
  }
}

/** Checks a receipt with a set of keys against what an agent knows of the call. */
export async function checkReceipt(keys: KeySet, receipt: string, call: KnownCall): Promise<CheckedReceipt> {
  const wrong = (name: string, detail: string): CheckedReceipt => ({ ok: false, problems: [{ name, detail }], entry: undefined });
  const entry = await keys.verify("receipt", receipt);
  if (entry === "KEY") return wrong("KEY", "the key of the receipt is not a key that this agent trusts");
  if (entry === "SIGNATURE") return wrong("SIGNATURE", "the signature of the receipt is not valid");
  const account = isObject(entry.account) ? entry.account : {};
  if (entry.v !== "uim-entry-1" || entry.kind !== "charge" || entry.iss !== call.iss || account.agent !== call.agent) {
    return wrong("AGREEMENT", "the receipt is for another service or another agent");
  }
  if (entry.id !== call.id) return wrong("UNKNOWN_EXECUTION", `the receipt is for the execution ${clean(entry.id)}`);
  const problems = compare(entry, account, call);
  return { ok: problems.length === 0, problems, entry };
}

function compare(entry: JsonObject, account: JsonObject, call: KnownCall): ReceiptProblem[] {
  const problems: ReceiptProblem[] = [];
  const report = (name: string, detail: string): number => problems.push({ name, detail });
  const differs = (value: Json | undefined, known: string | undefined): boolean => known !== undefined && known !== "" && value !== known;
  if (account.currency !== call.currency || nanoOf(String(entry.amount)) !== nanoOf(call.amount)) {
    report(
      "AMOUNT",
      `the receipt is for ${clean(entry.amount)} ${clean(account.currency)}, and UIM-Charge for ${call.amount} ${call.currency}`,
    );
  }
  if (call.state !== "pending" && entry.to !== call.state) {
    report("STATE", `the receipt is for a charge that is ${clean(entry.to)}, and UIM-Charge states ${call.state}`);
  }
  if (differs(entry.req, call.req)) report("REQUEST", "the receipt is for a call with another intent or other parameters");
  if (entry.to === "captured" && differs(entry.ans, entry.ans_form === "jcs" ? call.ans_jcs : call.ans)) {
    report("ANSWER", "the receipt is for an output that differs from the one that the agent received");
  }
  if (call.replayed) return problems; // the call was made under the agreement of that time
  if (differs(entry.pol, call.pol) && (!call.pol_next || entry.pol !== call.pol_next))
    report("POLICY", "the receipt is for a policy that the agent did not agree to");
  if (differs(entry.agr, call.agr) || differs(entry.pat, call.pat) || (entry.jkt !== undefined && differs(entry.jkt, call.jkt))) {
    report("AGREEMENT", "the receipt is for another agreement, token or key of the agent");
  }
  return problems;
}

/** Returns the digests of an output: as sent, and of its canonical form. */
export async function outputDigests(result: Pick<Result, "text" | "output">): Promise<{ ans: string; ans_jcs: string | undefined }> {
  const ans_jcs = await canonicalDigest(result.output).then(
    (digest) => `sha-256:${digest}`,
    () => undefined,
  );
  return { ans: `sha-256:${await sha256(utf8(result.text))}`, ans_jcs };
}
