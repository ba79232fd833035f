import { canonical, type Json } from "./json.js";
import { isNode, nodeCrypto } from "./platform.js";

const encoder = new TextEncoder();

/** Returns the bytes of a string in UTF-8. */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

/** Returns base64 with the URL alphabet and without padding (RFC 4648, section 5). */
export function base64url(data: Uint8Array): string {
  return base64(data).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Returns base64 with padding (RFC 4648, section 4). */
export function base64(data: Uint8Array): string {
  if (isNode) return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
  let binary = "";
  for (let at = 0; at < data.length; at += 0x2000) binary += String.fromCharCode(...data.subarray(at, at + 0x2000));
  return btoa(binary);
}

/** Decodes base64 or base64url, with or without padding. It returns undefined for any other string. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) return undefined;
  if (isNode) return text.replace(/=+$/, "").length % 4 === 1 ? undefined : new Uint8Array(Buffer.from(text, "base64"));
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, ""));
    return Uint8Array.from(binary, (c) => c.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Returns SHA-256 of some bytes, in base64url. */
export async function sha256(data: Uint8Array<ArrayBuffer>): Promise<string> {
  if (nodeCrypto) return nodeCrypto.createHash("sha256").update(data).digest("base64url");
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", data)));
}

/** Returns SHA-256 over the canonical form of a value, in base64url. It is the digest of a proof. */
export function canonicalDigest(value: Json): Promise<string> {
  return sha256(utf8(canonical(value)));
}
