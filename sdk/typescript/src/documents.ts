import { base64, base64url, fromBase64, sha256, utf8 } from "./encoding.js";
import { readPrivate, writePrivate } from "./files.js";
import { isObject, type JsonObject, parseObject } from "./json.js";
import type { AgentKey } from "./keys.js";
import { nodeModule } from "./platform.js";
import { Policy } from "./policy.js";
import type { AgreedTerms } from "./session.js";
import { jwsPart } from "./sign.js";

/** The most documents of each kind. Storing one more removes the oldest. */
const MAX_DOCUMENTS = 1000;
const MAX_DOCUMENT = 16 << 20;

/**
 * The agreements and policies that receipts of a book name, in files beside the book. `uimgate agent receipts export` adds them to the
 * evidence. Errors: FileError, and OptionsError outside Node.js.
 */
export class Documents {
  constructor(private readonly directory: string) {}

  /** Stores a policy, unless it is stored already. */
  async keepPolicy(policy: Pick<Policy, "uid" | "digest" | "text">): Promise<void> {
    if (await this.policy(policy.digest)) return;
    const { uid, digest, text } = policy;
    await this.keep("policy", digest, JSON.stringify({ uid, digest, document: base64(utf8(text)) }));
  }

  /** Returns a policy that keepPolicy has stored; undefined if there is none, or it is damaged. */
  async policy(digest: string): Promise<Policy | undefined> {
    const text = await readPrivate(await this.path("policy", digest), MAX_DOCUMENT);
    const document = text === undefined ? undefined : fromBase64(memberOf(text, "document"));
    if (!document) return undefined;
    try {
      const policy = await Policy.read(new TextDecoder().decode(document), "about:blank", () => Promise.resolve(""));
      return policy.digest === digest ? policy : undefined;
    } catch {
      return undefined;
    }
  }

  /** Stores an agreement that the agent has signed (a uim-agreement+jwt), with the policy. id was chosen by the service. */
  async keepAgreement(id: string, signed: string, terms: AgreedTerms, key: AgentKey): Promise<void> {
    const claims = jwsPart(signed, 1) ?? {};
    const at = new Date(Number(claims.iat) * 1000).toISOString();
    const bytes = (text: string): string => base64url(utf8(text));
    const agreement = {
      id,
      service: terms.issuer,
      issuer: terms.issuer,
      agent_id: terms.agentId,
      agent_public_key: base64url(await spkiOf(key)),
      jkt: key.thumbprint,
      policy_uid: terms.policyUid,
      policy_digest: terms.policyDigest,
      assurance: "fresh",
      form: "jws-agreement",
      signature: bytes(signed),
      nonce: claims.jti,
      ...(Array.isArray(claims.scope) ? { scope: claims.scope } : {}),
      state: "active",
      created_at: at,
    };
    const policy = { uid: terms.policyUid, digest: terms.policyDigest, document: bytes(terms.policy), first_offered: at };
    await this.keep("agreement", id, JSON.stringify({ type: "uim-agreement-export", version: "1", agreement, policy }));
  }

  private async path(kind: string, id: string): Promise<string> {
    const { join } = await nodeModule<typeof import("node:path")>("path", "a file of evidence");
    const digest = fromBase64(await sha256(utf8(id))) ?? new Uint8Array();
    const hex = [...digest.subarray(0, 12)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return join(this.directory, `${kind}-${hex}.json`);
  }

  /** keep writes a document, and removes the oldest ones of its kind if there are too many. */
  private async keep(kind: string, id: string, text: string): Promise<void> {
    await writePrivate(await this.path(kind, id), text);
    const fs = await nodeModule<typeof import("node:fs/promises")>("fs/promises", "a file of evidence");
    const { join } = await nodeModule<typeof import("node:path")>("path", "a file of evidence");
    const names = (await fs.readdir(this.directory)).filter((name) => name.startsWith(`${kind}-`) && name.endsWith(".json"));
    if (names.length <= MAX_DOCUMENTS) return;
    const ages = await Promise.all(
      names.map(async (name) => {
        const path = join(this.directory, name);
        return { path, age: (await fs.stat(path).catch(() => undefined))?.mtimeMs ?? 0 };
      }),
    );
    ages.sort((a, b) => a.age - b.age);
    for (const { path } of ages.slice(0, ages.length - MAX_DOCUMENTS)) await fs.rm(path, { force: true });
  }
}

/** spkiOf returns the public key of an agent as DER SubjectPublicKeyInfo. */
async function spkiOf({ algorithm, publicKey }: AgentKey): Promise<Uint8Array> {
  const parameters = {
    EdDSA: { name: "Ed25519" },
    ES256: { name: "ECDSA", namedCurve: "P-256" },
    RS256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
  }[algorithm];
  const key = await crypto.subtle.importKey("jwk", publicKey as JsonWebKey, parameters, true, ["verify"]);
  return new Uint8Array(await crypto.subtle.exportKey("spki", key));
}

function memberOf(text: string, name: string): string {
  try {
    const document: JsonObject = parseObject(text);
    const value = isObject(document) ? document[name] : undefined;
    return typeof value === "string" ? value : "";
  } catch {
    return "";
  }
}
