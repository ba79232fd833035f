import { ResponseError, PendingError, PolicyChangedError } from "./errors.js";
import { isObject, type Json, type JsonObject, parseObject } from "./json.js";
import { jwsPart } from "./sign.js";
import { clean, codeName, identifier, isDigest } from "./text.js";

/** A requested scope entry that a service did not grant, and the reason. */
export interface OmittedEntry {
  readonly entry: string;
  readonly reason: string;
}

/** The agreement of an agent with a service, and its token. It contains the token, so keep it as secret as a password. */
export interface Session {
  readonly version: 1;
  /** URL of agents.json. */
  readonly agents: string;
  readonly issuer: string;
  readonly agentId: string;
  /** Thumbprint of the key that agreed. */
  readonly keyId: string;
  readonly policyUid: string;
  readonly policyDigest: string;
  /** The policy as served. */
  readonly policy: string;
  readonly agreementId: string;
  readonly requested: string[] | null;
  readonly declared: Record<string, string[]> | null;
  readonly scope: string[];
  readonly scopeOmitted: OmittedEntry[];
  /** Milliseconds since 1970 by the clock of the service, like all times of this object; 0 if the service does not state it. */
  readonly expiresAt: number;
  readonly notBefore: number;
  readonly issuedAt: number;
  readonly token: string;
  /** jti of the token. */
  readonly tokenId: string;
}

/** The members of a session that an agreement determines before there is a token. */
export type AgreedTerms = Omit<
  Session,
  "agreementId" | "scope" | "scopeOmitted" | "expiresAt" | "notBefore" | "issuedAt" | "token" | "tokenId"
>;

const MAX_TOKEN = 16 << 10;
const MAX_SCOPE = 1000;

/**
 * Reads the response to an agreement or a renewal. It checks the claims of the token against the agreement, and throws a PendingError, a
 * PolicyChangedError or a ResponseError.
 */
export function readToken(terms: AgreedTerms, status: number, text: string, now: number): Session {
  const unusable = (why: string): ResponseError => new ResponseError(`the response to the agreement cannot be used: ${why}`, true);
  let body: JsonObject;
  try {
    body = parseObject(text);
  } catch {
    throw unusable("it is not a JSON object");
  }
  if (status === 202 || body.status === "pending") throw new PendingError(identifier(body.agreement_id));
  const token = body["uim-pat"];
  if (typeof token !== "string" || token.length > MAX_TOKEN || !/^[A-Za-z0-9._~+/=-]+$/.test(token)) throw unusable("it has no token");
  const claims = jwsPart(token, 1) ?? {};
  if (typeof claims.pol_digest === "string" && claims.pol_digest !== terms.policyDigest) {
    throw new PolicyChangedError(terms.policyDigest, isDigest(claims.pol_digest) ? claims.pol_digest : "");
  }
  const confirmation = isObject(claims.cnf) ? claims.cnf.jkt : undefined;
  if (typeof confirmation === "string" && confirmation !== terms.keyId) throw unusable("the token is bound to another key");
  const seconds = (claim: Json | undefined): number => (typeof claim === "number" && claim > 0 && claim < 253402300800 ? claim * 1000 : 0);
  const stated = typeof body.expires_at === "string" ? Date.parse(body.expires_at) : 0;
  return {
    ...terms,
    token,
    tokenId: typeof claims.jti === "string" ? claims.jti : "",
    agreementId: identifier(body.agreement_id ?? claims.agr),
    scope: scopeOf(body.scope ?? claims.scope),
    scopeOmitted: omittedOf(body.scope_omitted),
    issuedAt: now,
    expiresAt: seconds(claims.exp) || stated || 0,
    notBefore: seconds(claims.nbf) > seconds(claims.iat) ? seconds(claims.nbf) : 0,
  };
}

function scopeOf(value: Json | undefined): string[] {
  const list = typeof value === "string" ? value.split(" ") : value;
  return Array.isArray(list)
    ? list
        .slice(0, MAX_SCOPE)
        .filter((entry) => typeof entry === "string")
        .map(clean)
    : [];
}

function omittedOf(value: Json | undefined): OmittedEntry[] {
  const list = Array.isArray(value) ? value.slice(0, MAX_SCOPE).filter(isObject) : [];
  return list.map((item) => ({ entry: clean(item.entry), reason: codeName(item.reason) })).filter((item) => item.entry !== "");
}

/** Reads a session that the caller has stored as text. It throws a ResponseError if the text is not a session. */
export function parseSession(text: string): Session {
  let tree: JsonObject;
  try {
    tree = parseObject(text);
  } catch {
    throw new ResponseError("the kept session cannot be read: remove it, and agree again", false);
  }
  const texts = ["agents", "issuer", "agentId", "keyId", "policyUid", "policyDigest", "policy", "agreementId", "token", "tokenId"];
  const numbers = ["expiresAt", "notBefore", "issuedAt"];
  if (
    tree.version !== 1 ||
    texts.some((name) => typeof tree[name] !== "string") ||
    numbers.some((name) => typeof tree[name] !== "number")
  ) {
    throw new ResponseError("the kept session is not of this version: remove it, and agree again", false);
  }
  return tree as unknown as Session;
}
