import type { Agreements, Connection } from "./agreement.js";
import type { Documents } from "./documents.js";
import { isObject, type JsonObject } from "./json.js";
import { nanoOf } from "./money.js";
import { Policy } from "./policy.js";
import { statesPrice } from "./ruleprice.js";
import type { AgreedTerms } from "./session.js";
import { jwsPart } from "./sign.js";
import { sameTerms } from "./terms.js";
import { isDigest } from "./text.js";

const PAUSE_MS = 60_000;
/** The most results that are kept. */
const MAX_KNOWN = 1000;

/**
 * Finds the policies under which an agreement to an earlier policy holds, because the terms of the intent are the same, and the prices in
 * them.
 */
export class Successions {
  #policy: Policy | undefined;
  #agreed: Policy | undefined;
  #known = new Map<string, boolean>();
  #prices = new Set<string>();
  #fetched: number | undefined;

  constructor(
    private readonly c: Connection,
    private readonly agreements: Agreements,
    private readonly documents: Documents | undefined,
  ) {}

  /**
   * Returns the digest of the policy that a receipt names, if it is not the agreed one and has the same terms for the intent; otherwise
   * undefined. It makes at most two requests a minute.
   */
  async successor(receipt: string, intent: string): Promise<string | undefined> {
    const session = this.agreements.session;
    const digest = jwsPart(receipt, 1)?.pol;
    if (!session || !isDigest(digest) || digest === session.policyDigest) return undefined;
    const pair = `${session.policyDigest} ${digest} ${intent}`;
    let same = this.#known.get(pair);
    if (same === undefined) {
      const policy = await this.policyWith(digest).catch(() => undefined);
      if (!policy) return undefined;
      same = sameTerms((await this.agreed(session)).document, policy.document, intent);
      if (this.#known.size >= MAX_KNOWN) this.#known.clear();
      this.#known.set(pair, same);
    }
    return same ? digest : undefined;
  }

  /**
   * Reports whether the amount of an entry is not the price that its policy states at its rule. next is the result of successor. It returns
   * false if the client has neither agreed to the policy nor knows it as the successor, or cannot find the rule in it.
   */
  async contradicts(entry: JsonObject, next: string | undefined): Promise<boolean> {
    const { pol, rule, amount } = entry;
    const currency = isObject(entry.account) ? entry.account.currency : undefined;
    const nano = typeof amount === "string" ? nanoOf(amount) : undefined;
    if (typeof pol !== "string" || typeof rule !== "string" || rule === "" || typeof currency !== "string" || nano === undefined) return false;
    const price = JSON.stringify([pol, rule, String(nano), currency]);
    if (this.#prices.has(price)) return false;
    const states = statesPrice((await this.documentOf(pol, next)) ?? {}, rule, nano, currency);
    if (states) {
      if (this.#prices.size >= MAX_KNOWN) this.#prices.clear();
      this.#prices.add(price);
    }
    return states === false;
  }

  /** documentOf returns the policy with a digest, if it is the agreed one or next. */
  private async documentOf(digest: string, next: string | undefined): Promise<JsonObject | undefined> {
    const session = this.agreements.session;
    const agreed = session && digest === session.policyDigest;
    if (!agreed && digest !== next) return undefined;
    const policy = await (agreed ? this.agreed(session) : this.policyWith(digest)).catch(() => undefined);
    return policy?.document;
  }

  /** agreed returns the policy of the session. */
  private async agreed(session: AgreedTerms): Promise<Policy> {
    if (this.#agreed?.digest !== session.policyDigest) this.#agreed = await Policy.read(session.policy, session.agents, () => Promise.resolve(""));
    return this.#agreed;
  }

  /** policyWith returns the policy with a digest, which the service offers or the client has stored; undefined if there is none. */
  private async policyWith(digest: string): Promise<Policy | undefined> {
    if (this.#policy?.digest === digest) return this.#policy;
    const stored = await this.documents?.policy(digest);
    if (stored) return (this.#policy = stored);
    const now = this.c.settings.now();
    if (this.#fetched !== undefined && now < this.#fetched + PAUSE_MS) return undefined;
    this.#fetched = now;
    const found = await this.agreements.policyWith(digest);
    if (!found) return undefined;
    await this.documents?.keepPolicy(found).catch(() => {}); // otherwise it is fetched again
    return (this.#policy = found);
  }
}
