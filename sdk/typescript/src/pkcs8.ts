import { fromBase64 } from "./encoding.js";
import { KeyError } from "./errors.js";

/** The algorithms of JWS that services accept (RFC 7518, RFC 8037). */
export type Algorithm = "EdDSA" | "ES256" | "RS256";

/** The longest text of a key, in characters. */
export const MAX_KEY_TEXT = 64 << 10;

/** Returns the DER of the only PEM block "PRIVATE KEY" (PKCS#8, RFC 5958) in a text. */
export function pkcs8OfPem(text: string): Uint8Array<ArrayBuffer> {
  if (text.length > MAX_KEY_TEXT) throw new KeyError(`the key is longer than ${MAX_KEY_TEXT} characters`);
  const [, label = "", body = ""] = /-----BEGIN ([A-Z0-9 ]{1,64})-----([^-]*)-----END \1-----/.exec(text) ?? [];
  switch (label) {
    case "PRIVATE KEY": {
      const der = fromBase64(body.replace(/\s/g, ""));
      if (!der) throw new KeyError("the PEM block does not contain base64");
      return der;
    }
    case "ENCRYPTED PRIVATE KEY":
      throw new KeyError(
        "the key is encrypted: decrypt it with `openssl pkcs8 -in KEY -out agent.pem`, and protect the file by its mode (0600)",
      );
    case "RSA PRIVATE KEY":
    case "EC PRIVATE KEY":
      throw new KeyError(`the PEM block is "${label}": convert it with \`openssl pkcs8 -topk8 -nocrypt -in KEY -out agent.pem\``);
    case "":
      throw new KeyError('there is no PEM block "PRIVATE KEY" (PKCS#8), such as `uimgate agent keygen` creates');
    default:
      throw new KeyError(`the PEM block is "${label}", not "PRIVATE KEY" (PKCS#8)`);
  }
}

const ED25519 = "2b6570"; // 1.3.101.112, RFC 8410
const RSA = "2a864886f70d010101"; // 1.2.840.113549.1.1.1, RFC 8017
const EC = "2a8648ce3d0201"; // 1.2.840.10045.2.1, RFC 5480
const P256 = "2a8648ce3d030107"; // 1.2.840.10045.3.1.7

/** Returns the algorithm of a key in PKCS#8. It throws a KeyError for keys that services do not accept. */
export function algorithmOfPkcs8(der: Uint8Array): Algorithm {
  const outer = read(der, 0, 0x30);
  const version = read(outer.value, 0, 0x02);
  const identifier = read(outer.value, version.end, 0x30);
  const algorithm = read(identifier.value, 0, 0x06);
  switch (hex(algorithm.value)) {
    case ED25519:
      return "EdDSA";
    case RSA:
      return "RS256";
    case EC:
      if (hex(read(identifier.value, algorithm.end, 0x06).value) === P256) return "ES256";
      throw new KeyError("the key is of a curve other than P-256: use Ed25519, ECDSA P-256 or RSA");
    default:
      throw new KeyError("this type of key is not supported: use Ed25519, ECDSA P-256 or RSA of 2048 to 4096 bits");
  }
}

/** read reads one element of DER with a tag (X.690, section 8.1). */
function read(der: Uint8Array, at: number, tag: number): { value: Uint8Array; end: number } {
  const broken = new KeyError("the PEM block does not contain a valid PKCS#8 key");
  let length = der[at + 1];
  if (der[at] !== tag || length === undefined) throw broken;
  let begin = at + 2;
  if (length >= 0x80) {
    const bytes = length - 0x80;
    if (bytes < 1 || bytes > 3 || begin + bytes > der.length) throw broken;
    length = der.subarray(begin, begin + bytes).reduce((n, b) => n * 256 + b, 0);
    begin += bytes;
  }
  if (begin + length > der.length) throw broken;
  return { value: der.subarray(begin, begin + length), end: begin + length };
}

function hex(data: Uint8Array): string {
  return [...data].map((b) => b.toString(16).padStart(2, "0")).join("");
}
