import type { Catalog } from "./catalog.js";
import type { ServiceClock } from "./clock.js";
import type { Documents } from "./documents.js";
import { ApprovalError, NotAgreedError, OptionsError, PolicyChangedError, RefusalError, RenewalError, ResponseError } from "./errors.js";
import type { Answer, Exchanger } from "./exchange.js";
import { checkIssuer } from "./issuer.js";
import type { Settings } from "./options.js";
import { MAX_POLICY, Policy } from "./policy.js";
import { readRefusal } from "./refusal.js";
import { type AgreedTerms, type OmittedEntry, parseSession, readToken, type Session } from "./session.js";
import { randomId, renewDigest, signAgreement, signProof } from "./sign.js";
import { isDigest } from "./text.js";

/** The options of agree(). */
export interface AgreeOptions {
  /** Intents to agree to. The default is everything that the policy permits. */
  scope?: string[];
  /** What the agent declares about itself, such as {purpose: ["research"]}. */
  declared?: Record<string, string[]>;
  /** The plan of the policy to choose. An agreement with another plan ends the earlier one. */
  plan?: string;
  /** A name of the service that the caller accepts although the host may not use it. */
  issuer?: string;
  signal?: AbortSignal;
}

/** What the agent signs about itself, with the plan that it chooses. */
function declaration(options: AgreeOptions): Record<string, string[]> | null {
  if (options.plan === undefined) return options.declared ?? null;
  const declared = { plan: [options.plan], ...options.declared };
  if (declared.plan.length !== 1 || declared.plan[0] !== options.plan)
    throw new OptionsError("declared.plan and plan name different plans");
  return declared;
}

/** An agreement that the service has accepted. */
export interface Agreement {
  readonly id: string;
  readonly policyUid: string;
  readonly policyDigest: string;
  /** Granted intents, such as shop.example:search:v1:execute. */
  readonly scope: string[];
  /** Requested intents that were not granted, and why. */
  readonly scopeOmitted: OmittedEntry[];
  /** End of the token; undefined if the service does not state it. The client renews the token before that. */
  readonly expiresAt: Date | undefined;
}

const MAX_ANSWER = 256 << 10;
const EXCHANGE_MS = 30_000;

/** The values that the parts of a client share. */
export interface Connection {
  readonly settings: Settings;
  readonly catalog: Catalog;
  readonly exchanger: Exchanger;
  readonly clock: ServiceClock;
  /** URL of agents.json, and the URL that was requested first. */
  readonly agents: URL;
  readonly asked: URL;
}

/** Agrees, renews and revokes. It signs only a policy that the caller has accepted by its digest. */
export class Agreements {
  #session: Session | undefined;
  #renewing: Promise<Session> | undefined;
  #pending: { digest: string; body: string; terms: AgreedTerms } | undefined;

  constructor(
    private readonly c: Connection,
    private readonly documents: Documents | undefined,
  ) {}

  /** The session, or undefined if there is no agreement. */
  get session(): Session | undefined {
    return this.#session;
  }

  /** Reads the stored session. It ignores a session of another service, key or agent. It reports whether the token has changed. */
  async load(): Promise<boolean> {
    const text = await this.c.settings.session?.load();
    if (!text) return false;
    const kept = parseSession(text);
    const { key, agentId } = this.c.settings;
    const mine =
      kept.agents === this.c.agents.href &&
      kept.issuer === this.c.catalog.issuer &&
      kept.keyId === key.thumbprint &&
      kept.agentId === agentId;
    if (!mine || kept.token === this.#session?.token) return false;
    this.#session = kept;
    return true;
  }

  /** Fetches the policy in force. With a digest, it fetches the policy with that digest, which is in force or takes effect next. */
  async policy(digest?: string, signal?: AbortSignal): Promise<Policy> {
    const { catalog, agents } = this.c;
    const policy = await this.fetchPolicy(catalog.endpoints.policy, signal);
    const next = catalog.successor;
    if (digest === undefined || policy.digest === digest || next?.digest !== digest) return policy;
    const successor = await this.fetchPolicy(new URL(next.url, agents).href, signal);
    return successor.digest === digest ? successor : policy;
  }

  /** Fetches the policy with a digest, which is or was in force or takes effect next; undefined if the service does not have it. */
  async policyWith(digest: string): Promise<Policy | undefined> {
    const url = this.c.catalog.endpoints.policy;
    const policy = await this.fetchPolicy(url, undefined);
    if (policy.digest === digest) return policy;
    const other = await this.fetchPolicy(withDigest(url, digest), undefined);
    return other.digest === digest ? other : undefined;
  }

  private async fetchPolicy(url: string, signal: AbortSignal | undefined): Promise<Policy> {
    const answer = await this.document(url, "application/json, application/ld+json;q=0.9", signal);
    return Policy.read(answer.text, answer.url.href, (policy) => this.explain(policy));
  }

  /** Fetches the service's explanation of the policy with a digest. */
  private async explain(policy: Policy): Promise<string> {
    const answer = await this.document(withDigest(policy.url, policy.digest), "text/plain", undefined);
    if (!/^text\/plain\b/i.test(answer.headers.get("content-type") ?? "")) {
      throw new ResponseError("the service does not explain its policy in plain text: read the document", false);
    }
    return answer.text;
  }

  private async document(url: string, accept: string, signal: AbortSignal | undefined): Promise<Answer> {
    const answer = await this.c.exchanger.document({
      method: "GET",
      url,
      from: this.c.agents,
      headers: { Accept: accept },
      maxBytes: MAX_POLICY,
      timeoutMs: this.timeout,
      signal,
    });
    if (answer.status !== 200) throw readRefusal(answer);
    return answer;
  }

  private get timeout(): number {
    return this.c.settings.timeoutMs ?? EXCHANGE_MS;
  }

  /** Signs a policy if it is the accepted one, and stores the token. */
  async agree(accept: string | ((policy: Policy) => boolean | Promise<boolean>), options: AgreeOptions = {}): Promise<Agreement> {
    const { settings, catalog, agents, asked } = this.c;
    const digest = typeof accept === "string" ? accept : undefined;
    if (digest !== undefined && !isDigest(digest))
      throw new OptionsError("the accepted policy must be named by its digest, such as sha-256:…");
    if (!settings.allowInsecure && options.issuer !== catalog.issuer) {
      await checkIssuer(catalog.issuer, agents, asked, settings.locate, options.signal ?? AbortSignal.timeout(EXCHANGE_MS));
    }
    const policy = await this.policy(digest, options.signal);
    if (digest !== undefined && policy.digest !== digest) throw new PolicyChangedError(digest, policy.digest);
    if (typeof accept === "function" && !(await accept(policy))) throw new ApprovalError("the policy was declined: nothing was signed");
    return agreementOf(await this.sign(policy, options));
  }

  private async sign(policy: Policy, options: AgreeOptions): Promise<Session> {
    const terms = this.terms(policy, options);
    const waiting = this.#pending;
    if (waiting && waiting.digest === policy.digest && JSON.stringify(waiting.terms) === JSON.stringify(terms)) {
      try {
        return await this.post(waiting.body, waiting.terms, options.signal);
      } catch (error) {
        if (!(error instanceof RefusalError && error.is("AGREEMENT_STALE", "AGREEMENT_REPLAYED", "POLICY_MISMATCH"))) throw error;
        this.#pending = undefined;
      }
    }
    try {
      return await this.post(await this.body(terms, options.plan), terms, options.signal);
    } catch (error) {
      const offered =
        error instanceof RefusalError && error.is("POLICY_MISMATCH") && error.offered === policy.digest ? error.details.policy : undefined;
      const uid = typeof offered === "object" && offered !== null && !Array.isArray(offered) ? offered.uid : undefined;
      if (typeof uid !== "string" || uid === terms.policyUid) throw changed(error, policy.digest);
      const renamed = { ...terms, policyUid: uid }; // the service offers the same document under another uid
      return this.post(await this.body(renamed, options.plan), renamed, options.signal);
    }
  }

  private terms(policy: Policy, options: AgreeOptions): AgreedTerms {
    const { settings, catalog, agents } = this.c;
    return {
      version: 1,
      agents: agents.href,
      issuer: catalog.issuer,
      agentId: settings.agentId,
      keyId: settings.key.thumbprint,
      policyUid: policy.uid,
      policyDigest: policy.digest,
      policy: policy.text,
      requested: options.scope ? [...options.scope] : null,
      declared: declaration(options),
    };
  }

  private async body(terms: AgreedTerms, plan?: string): Promise<string> {
    const { settings, clock, catalog } = this.c;
    const signed = await signAgreement(settings.key, {
      agentId: terms.agentId,
      audience: terms.issuer,
      url: catalog.endpoints.issue,
      issuedAt: clock.seconds(),
      id: randomId(),
      policyUid: terms.policyUid,
      policyDigest: terms.policyDigest,
      scope: terms.requested ?? undefined,
      declared: terms.declared ?? undefined,
    });
    return JSON.stringify({
      agent_id: terms.agentId,
      agent_public_key: settings.key.publicKey,
      signed_policy: signed,
      ...(terms.requested ? { scope: terms.requested } : {}),
      ...(plan !== undefined ? { plan } : {}),
    });
  }

  private async post(body: string, terms: AgreedTerms, signal: AbortSignal | undefined): Promise<Session> {
    const answer = await this.c.exchanger.authenticated({
      method: "POST",
      url: this.c.catalog.endpoints.issue,
      from: this.c.agents,
      body,
      maxBytes: MAX_ANSWER,
      timeoutMs: this.timeout,
      signal,
      headers: { Accept: "application/json", "Content-Type": "application/json" },
    });
    if (answer.status >= 300) throw readRefusal(answer);
    if (answer.status === 202) this.#pending = { digest: terms.policyDigest, body, terms };
    const session = readToken(terms, answer.status, answer.text, this.c.clock.now());
    await this.keepEvidence(session, body);
    return this.keep(session);
  }

  /** keepEvidence stores a signed agreement and its policy beside the receipts. Without them, an export of evidence is not complete. */
  private async keepEvidence(session: Session, body: string): Promise<void> {
    if (!this.documents || session.agreementId === "") return;
    const { signed_policy: signed } = JSON.parse(body) as { signed_policy: string };
    try {
      await this.documents.keepPolicy({ uid: session.policyUid, digest: session.policyDigest, text: session.policy });
      await this.documents.keepAgreement(session.agreementId, signed, session, this.c.settings.key);
    } catch (error) {
      this.c.settings.onWarning(`the agreement was not stored beside the receipts: ${(error as Error).message}`);
    }
  }

  private async keep(session: Session): Promise<Session> {
    this.#session = session;
    this.#pending = undefined;
    await this.c.settings.session?.save(`${JSON.stringify(session, null, 2)}\n`);
    return session;
  }

  /** Returns the session, after renewing the token if that is due. */
  async current(): Promise<Session> {
    const session = this.#session;
    if (!session) throw new NotAgreedError();
    const now = this.c.clock.now();
    const early = Math.min(60_000, (session.expiresAt - session.issuedAt) / 10);
    if (session.expiresAt === 0 || now < session.expiresAt - early) return session;
    try {
      return await this.renew(session);
    } catch (error) {
      if (!(error instanceof PolicyChangedError) && now < session.expiresAt) return session; // the token is still valid; the next call tries again
      throw new RenewalError(error as Error);
    }
  }

  /** Replaces the token of a session, unless it was already replaced. Calls that run at the same time share one renewal. */
  renew(before?: Session): Promise<Session> {
    const session = this.#session;
    if (!session) return Promise.reject(new NotAgreedError());
    if (before && before.token !== session.token) return Promise.resolve(session);
    this.#renewing ??= this.exchange(session).finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  private async exchange(session: Session): Promise<Session> {
    const { settings, clock, catalog, agents, exchanger } = this.c;
    const proof = await signProof(settings.key, {
      audience: session.issuer,
      tokenId: session.tokenId,
      digest: await renewDigest(session.tokenId),
      issuedAt: clock.seconds(),
      id: randomId(),
    });
    const answer = await exchanger.authenticated({
      method: "POST",
      url: catalog.endpoints.renew,
      from: agents,
      maxBytes: MAX_ANSWER,
      timeoutMs: this.timeout,
      headers: { Accept: "application/json", Authorization: `Bearer ${session.token}`, "UIM-Proof": proof },
    });
    if (answer.status < 300) {
      const next = readToken(session, answer.status, answer.text, clock.now());
      return this.keep({
        ...next,
        agreementId: next.agreementId || session.agreementId,
        scope: next.scope.length > 0 ? next.scope : session.scope,
        scopeOmitted: next.scopeOmitted.length > 0 ? next.scopeOmitted : session.scopeOmitted,
      });
    }
    const refusal = readRefusal(answer);
    if (answer.status === 401 && (await this.load()) && this.#session) return this.#session; // another process has renewed it
    if (!refusal.is("EXPIRED_TOKEN")) throw changed(refusal, session.policyDigest);
    const policy = await this.policy(session.policyDigest);
    if (policy.digest !== session.policyDigest) throw new PolicyChangedError(session.policyDigest, policy.digest);
    return this.sign(policy, {
      ...(session.requested ? { scope: session.requested } : {}),
      ...(session.declared ? { declared: session.declared } : {}),
    });
  }

  /** Revokes the token at the service, and deletes the session. */
  async revoke(): Promise<void> {
    const session = this.#session;
    if (!session) throw new NotAgreedError();
    const answer = await this.c.exchanger.authenticated({
      method: "POST",
      url: this.c.catalog.endpoints.revoke,
      from: this.c.agents,
      maxBytes: MAX_ANSWER,
      timeoutMs: this.timeout,
      headers: { Accept: "application/json", "Content-Type": "application/json" },
      body: JSON.stringify({ token: session.token }),
    });
    if (answer.status >= 300) throw readRefusal(answer);
    this.#session = undefined;
    await this.c.settings.session?.save("");
  }
}

function withDigest(policy: string, digest: string): string {
  const url = new URL(policy);
  url.searchParams.set("digest", digest);
  return url.href;
}

/** changed returns a PolicyChangedError if a refusal requires a policy other than the agreed one, and other errors unchanged. */
export function changed(error: unknown, agreed: string): unknown {
  if (!(error instanceof RefusalError) || !error.is("POLICY_MISMATCH", "POLICY_REQUIRES_AGREEMENT") || error.offered === agreed)
    return error;
  return new PolicyChangedError(agreed, error.offered, error.changes, { cause: error });
}

/** agreementOf returns the agreement of a session. */
export function agreementOf(s: Session): Agreement {
  return {
    id: s.agreementId,
    policyUid: s.policyUid,
    policyDigest: s.policyDigest,
    scope: [...s.scope],
    scopeOmitted: [...s.scopeOmitted],
    expiresAt: s.expiresAt ? new Date(s.expiresAt) : undefined,
  };
}
