import assert from "node:assert/strict";
import { generateKeyPairSync, verify } from "node:crypto";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { generateKey, generatePem, importKey, keyFromEnvironment, keyFromFile, signerKey, webCryptoKey } from "uimgate";

const dir = process.env.UIMGATE_DIR;
const pem = (type, options, encoding = { type: "pkcs8", format: "pem" }) => generateKeyPairSync(type, options).privateKey.export(encoding);
const data = new TextEncoder().encode("to sign");

test("signs with each kind of key, from PEM and from a JWK", async () => {
  for (const [type, options, algorithm] of [
    ["ed25519", {}, "EdDSA"],
    ["ec", { namedCurve: "P-256" }, "ES256"],
    ["rsa", { modulusLength: 2048 }, "RS256"],
  ]) {
    const { privateKey, publicKey } = generateKeyPairSync(type, options);
    const jwk = privateKey.export({ format: "jwk" });
    for (const source of [privateKey.export({ type: "pkcs8", format: "pem" }), jwk, JSON.stringify(jwk)]) {
      const key = await importKey(source);
      assert.equal(key.algorithm, algorithm);
      const signature = await key.sign(data);
      const how = type === "ec" ? { key: publicKey, dsaEncoding: "ieee-p1363" } : publicKey;
      assert.ok(verify(type === "ed25519" ? null : "sha256", data, how, signature));
      assert.doesNotMatch(JSON.stringify(key), new RegExp(jwk.d));
    }
  }
});

test("takes keys that cannot be exported, and callbacks", async () => {
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);
  const key = await webCryptoKey(pair);
  assert.equal(key.algorithm, "ES256");
  await assert.rejects(crypto.subtle.exportKey("jwk", pair.privateKey));
  assert.equal((await generateKey()).algorithm, "EdDSA");
  const outside = await signerKey(key.publicKey, async (bytes) => new Uint8Array(bytes.length));
  assert.equal(outside.thumbprint, key.thumbprint);
  assert.equal((await outside.sign(data)).length, data.length);
});

for (const [what, source, message] of [
  [
    "an encrypted key",
    pem("ed25519", {}, { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" }),
    /encrypted: decrypt it/,
  ],
  ["another curve", pem("ec", { namedCurve: "P-384" }), /a curve other than P-256/],
  ["X25519", pem("x25519", {}), /not supported/],
  ["Ed448", pem("ed448", {}), /not supported/],
  ["a short RSA key", pem("rsa", { modulusLength: 1024 }), /1024 bits/],
  ["an RSA key with another exponent", pem("rsa", { modulusLength: 2048, publicExponent: 3 }), /exponent/],
  ["SEC 1", pem("ec", { namedCurve: "P-256" }, { type: "sec1", format: "pem" }), /openssl pkcs8 -topk8/],
  ["PKCS#1", pem("rsa", { modulusLength: 2048 }, { type: "pkcs1", format: "pem" }), /openssl pkcs8 -topk8/],
  ["a public key", generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }), /"PUBLIC KEY"/],
  ["no PEM", "secret-material", /there is no PEM block/],
  ["a cut key", (await generatePem()).replace(/^(MC.{20}).*$/m, "$1"), /PKCS#8/],
  ["a long RSA key", { kty: "RSA", e: "AQAB", n: Buffer.alloc(1024, 255).toString("base64url"), d: "secret-material" }, /8192 bits/],
  ["a long file", `-----BEGIN PRIVATE KEY-----\n${"A".repeat(70_000)}\n-----END PRIVATE KEY-----`, /longer than/],
  ["a JWK without a private part", generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }), /no private part/],
  ["a JWK of another curve", { kty: "OKP", crv: "X25519", x: "AAAA", d: "secret-material" }, /not supported/],
  [
    "a JWK whose parts do not fit",
    { ...generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }), d: "secret-material" },
    /not valid/,
  ],
  ["broken JSON", '{"kty": "OKP", "d": "secret-material"', /not a JSON object/],
]) {
  test(`${what} is rejected, and not quoted`, async () => {
    await assert.rejects(importKey(source), (e) => {
      assert.equal(e.name, "KeyError");
      assert.match(e.message, message);
      assert.doesNotMatch(`${e.message} ${e.stack} ${e.cause}`, /secret-material|MC4C/);
      return true;
    });
  });
}

test("creates the file of a key, for its owner alone", async () => {
  const file = join(dir, "new", "agent.pem");
  await assert.rejects(keyFromFile(file), /does not exist/);
  const key = await keyFromFile(file, { create: true });
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await keyFromFile(file, { create: true })).thumbprint, key.thumbprint);
  process.env.UIMGATE_AGENT_KEY = await readFile(file, "utf8");
  assert.equal((await keyFromEnvironment()).thumbprint, key.thumbprint);
  await assert.rejects(keyFromEnvironment("NO_SUCH"), { name: "KeyError" });
  await chmod(file, 0o644);
  await assert.rejects(keyFromFile(file), /chmod 600/);
  await writeFile(join(dir, "large.pem"), "x".repeat(70_000), { mode: 0o600 });
  await assert.rejects(keyFromFile(join(dir, "large.pem")), /larger than/);
});
