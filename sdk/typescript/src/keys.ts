import { base64, base64url, canonicalDigest, fromBase64 } from "./encoding.js";
import { KeyError } from "./errors.js";
import { isObject, type Json, JsonError, parseObject } from "./json.js";
import { nodeCrypto } from "./platform.js";
import { type Algorithm, algorithmOfPkcs8, MAX_KEY_TEXT, pkcs8OfPem } from "./pkcs8.js";

export type { Algorithm } from "./pkcs8.js";

/** A public key as JWK (RFC 7517), with the members of its thumbprint alone (RFC 7638). */
export type PublicJwk =
  | { readonly kty: "OKP"; readonly crv: "Ed25519"; readonly x: string }
  | { readonly kty: "EC"; readonly crv: "P-256"; readonly x: string; readonly y: string }
  | { readonly kty: "RSA"; readonly n: string; readonly e: string };

/** The key of an agent. It signs agreements and proofs. */
export interface AgentKey {
  readonly algorithm: Algorithm;
  readonly publicKey: PublicJwk;
  /** RFC 7638 thumbprint of the public key, in base64url. */
  readonly thumbprint: string;
  /**
   * Returns the signature of JWS over some bytes: 64 bytes of Ed25519; r and s of ECDSA P-256 with SHA-256, 32 bytes each; or RSA PKCS#1
   * v1.5 with SHA-256.
   */
  sign(data: Uint8Array<ArrayBuffer>): Promise<Uint8Array>;
}

const PARAMETERS: Record<Algorithm, { name: string; namedCurve?: string; hash?: string }> = {
  EdDSA: { name: "Ed25519" },
  ES256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  RS256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
};

/**
 * Returns the key with a public half, whose signatures a callback makes: a key in an HSM, a KMS or another process. The callback has the
 * meaning of AgentKey.sign. It throws a KeyError if services do not accept the public key.
 */
export async function signerKey(publicKey: JsonWebKey, sign: AgentKey["sign"]): Promise<AgentKey> {
  const [algorithm, jwk] = publicJwk(publicKey);
  return Object.freeze({ algorithm, publicKey: jwk, thumbprint: await canonicalDigest({ ...jwk } as Json), sign });
}

/** Returns the key of a pair of WebCrypto keys. The private one need not be extractable; the public one must be. */
export async function webCryptoKey(pair: CryptoKeyPair): Promise<AgentKey> {
  const jwk = await crypto.subtle.exportKey("jwk", pair.publicKey);
  return privateKey(jwk, pair.privateKey);
}

function privateKey(jwk: JsonWebKey, key: CryptoKey): Promise<AgentKey> {
  if (nodeCrypto) {
    const object = nodeCrypto.KeyObject.from(key);
    const hash = key.algorithm.name === "Ed25519" ? null : "sha256";
    const { sign } = nodeCrypto;
    return signerKey(jwk, async (data) => new Uint8Array(sign(hash, data, { key: object, dsaEncoding: "ieee-p1363" })));
  }
  const parameters = key.algorithm.name === "ECDSA" ? { name: "ECDSA", hash: "SHA-256" } : { name: key.algorithm.name };
  return signerKey(jwk, async (data) => new Uint8Array(await crypto.subtle.sign(parameters, key, data)));
}

/** Generates a key that cannot be exported. It lasts as long as the object, or as an IndexedDB in which a browser keeps the pair. */
export async function generateKey(algorithm: "EdDSA" | "ES256" = "EdDSA"): Promise<AgentKey> {
  return webCryptoKey(
    (await crypto.subtle.generateKey(PARAMETERS[algorithm] as EcKeyGenParams, false, ["sign", "verify"])) as CryptoKeyPair,
  );
}

/** Generates an Ed25519 key, and returns it as PEM (PKCS#8), to be kept where only the agent can read it. */
export async function generatePem(): Promise<string> {
  const pair = (await crypto.subtle.generateKey(PARAMETERS.EdDSA, true, ["sign", "verify"])) as CryptoKeyPair;
  const body = base64(new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey)));
  return `-----BEGIN PRIVATE KEY-----\n${body.replace(/.{64}(?=.)/g, "$&\n")}\n-----END PRIVATE KEY-----\n`;
}

/**
 * Imports a private key from PEM (PKCS#8) or a JWK, as text or as an object. It is not extractable from then on. It throws a KeyError for
 * keys that are encrypted, of a curve other than Ed25519 and P-256, or RSA outside of 2048 to 4096 bits.
 */
export async function importKey(key: string | JsonWebKey): Promise<AgentKey> {
  const jwk = typeof key === "string" && !key.trimStart().startsWith("{") ? await jwkOfPem(key) : jwkOf(key);
  const [algorithm] = publicJwk(jwk);
  const { kty, crv, x, y, n, e, d, p, q, dp, dq, qi } = jwk;
  if (typeof d !== "string") throw new KeyError("the JWK has no private part (d)");
  const secret = Object.fromEntries(Object.entries({ kty, crv, x, y, n, e, d, p, q, dp, dq, qi }).filter(([, v]) => v !== undefined));
  try {
    return await privateKey(jwk, await crypto.subtle.importKey("jwk", secret as JsonWebKey, PARAMETERS[algorithm], false, ["sign"]));
  } catch (error) {
    if (error instanceof KeyError) throw error;
    throw new KeyError("the private key is not valid"); // without the cause, which may quote the key
  }
}

function jwkOf(key: string | JsonWebKey): JsonWebKey {
  if (typeof key !== "string") return key;
  if (key.length > MAX_KEY_TEXT) throw new KeyError(`the key is longer than ${MAX_KEY_TEXT} characters`);
  try {
    return parseObject(key) as JsonWebKey;
  } catch (error) {
    throw new KeyError(error instanceof JsonError ? "the JWK is not a JSON object" : "the JWK cannot be read");
  }
}

async function jwkOfPem(text: string): Promise<JsonWebKey> {
  const der = pkcs8OfPem(text);
  const algorithm = algorithmOfPkcs8(der);
  try {
    const key = await crypto.subtle.importKey("pkcs8", der, PARAMETERS[algorithm], true, ["sign"]);
    return await crypto.subtle.exportKey("jwk", key);
  } catch {
    throw new KeyError("the PEM block does not contain a valid PKCS#8 key");
  }
}

/** publicJwk returns the algorithm of a JWK, and its public members. */
function publicJwk(jwk: JsonWebKey): [Algorithm, PublicJwk] {
  if (!isObject(jwk)) throw new KeyError("the public key is not a JWK");
  const [kty, crv, x, y, n, e] = ["kty", "crv", "x", "y", "n", "e"].map((name) => {
    const member = jwk[name];
    return typeof member === "string" ? member : "";
  }) as [string, string, string, string, string, string];
  const bytes = (member: string): number => fromBase64(member)?.length ?? -1;
  if (kty === "OKP" && crv === "Ed25519" && bytes(x) === 32) return ["EdDSA", { kty, crv, x }];
  if (kty === "EC" && crv === "P-256" && bytes(x) === 32 && bytes(y) === 32) return ["ES256", { kty, crv, x, y }];
  if (kty !== "RSA") {
    throw new KeyError("this type of key is not supported: use Ed25519, ECDSA P-256 or RSA of 2048 to 4096 bits");
  }
  const modulus = fromBase64(n) ?? new Uint8Array();
  const bits = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24;
  if (e !== "AQAB") throw new KeyError("the exponent of the RSA key is not 65537");
  if (bits < 2048 || bits > 4096) throw new KeyError(`the RSA key has ${Math.max(bits, 0)} bits: use one of 2048 to 4096`);
  return ["RS256", { kty, n: base64url(modulus), e }];
}
