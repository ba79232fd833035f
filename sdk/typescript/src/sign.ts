import { base64url, canonicalDigest, fromBase64, utf8 } from "./encoding.js";
import { canonical, isObject, type Json, type JsonObject, parseObject } from "./json.js";
import type { AgentKey } from "./keys.js";

/** Returns a random id for an agreement or a proof: 128 bits in hexadecimal, with hyphens (RFC 9562). */
export function randomId(): string {
  return crypto.randomUUID();
}

/** Signs a payload as compact JWS (RFC 7515). Header and payload have their canonical form. */
export async function signJws(key: AgentKey, header: JsonObject, payload: JsonObject): Promise<string> {
  const input = `${base64url(utf8(canonical(header)))}.${base64url(utf8(canonical(payload)))}`;
  return `${input}.${base64url(await key.sign(utf8(input)))}`;
}

/** The claims of an agreement. */
export interface AgreementClaims {
  agentId: string;
  /** uim-issuer of the service. */
  audience: string;
  /** URL that the agreement is posted to. */
  url: string;
  policyUid: string;
  policyDigest: string;
  /** Seconds since 1970. */
  issuedAt: number;
  id: string;
  scope?: string[] | undefined;
  declared?: Record<string, string[]> | undefined;
}

/** Signs an agreement, a uim-agreement+jwt. */
export function signAgreement(key: AgentKey, c: AgreementClaims): Promise<string> {
  const payload: JsonObject = {
    iss: c.agentId,
    aud: c.audience,
    htu: c.url,
    iat: c.issuedAt,
    jti: c.id,
    policy: { uid: c.policyUid, digest: c.policyDigest },
  };
  if (c.scope) payload.scope = c.scope;
  if (c.declared) payload.declared = c.declared;
  return signJws(key, { typ: "uim-agreement+jwt", alg: key.algorithm }, payload);
}

/** The claims of a proof. */
export interface ProofClaims {
  audience: string;
  /** jti of the token that the proof is sent with. */
  tokenId: string;
  /** executeDigest or renewDigest. */
  digest: string;
  issuedAt: number;
  id: string;
}

/** Signs a proof, a uim-proof+jwt. */
export function signProof(key: AgentKey, c: ProofClaims): Promise<string> {
  return signJws(
    key,
    { typ: "uim-proof+jwt", alg: key.algorithm, kid: key.thumbprint },
    {
      iat: c.issuedAt,
      jti: c.id,
      aud: c.audience,
      pat: c.tokenId,
      digest: c.digest,
    },
  );
}

/** Returns the digest of a call for its proof. */
export function executeDigest(intent: string, parameters: JsonObject): Promise<string> {
  return canonicalDigest({ intent_uid: intent, parameters });
}

/** Returns the digest of a renewal for its proof. */
export function renewDigest(tokenId: string): Promise<string> {
  return canonicalDigest({ renew: tokenId });
}

/** Returns the digest of a policy: sha-256: and SHA-256 over its canonical form. */
export async function policyDigest(policy: JsonObject): Promise<string> {
  return `sha-256:${await canonicalDigest(policy)}`;
}

/** Reads one part of a compact JWS as an object, without verifying the signature. It returns undefined if that is not one. */
export function jwsPart(jws: string, part: 0 | 1): JsonObject | undefined {
  const parts = jws.split(".");
  const bytes = parts.length === 3 ? fromBase64(parts[part] ?? "") : undefined;
  if (!bytes) return undefined;
  try {
    const value: Json = parseObject(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
