// The package without the features of Node.js: keys, digests and discovery are those of browsers and workers.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";

const dist = new URL("../dist/esm/", import.meta.url);
const url = process.env.UIMGATE_URL;
const ORDER = "shop.example:order:v1";

test("imports no module of Node.js that a bundler would look for", async () => {
  for (const name of (await readdir(dist)).filter((file) => file.endsWith(".js"))) {
    assert.doesNotMatch(await readFile(new URL(name, dist), "utf8"), /(from|import\() ?["'](node:|fs|path|crypto)/, name);
  }
});

// The package decides by what it finds when it is loaded; the fetch of Node.js itself needs these globals.
const { process: node, Buffer: bytes } = globalThis;
globalThis.process = globalThis.Buffer = undefined;
const { fileSession, keyFromFile, memoryBudget, UimClient, webCryptoKey, wrapFetch } = await import("uimgate").finally(() => {
  Object.assign(globalThis, { process: node, Buffer: bytes });
});

for (const algorithm of [{ name: "Ed25519" }, { name: "ECDSA", namedCurve: "P-256" }]) {
  test(`agrees and pays with a key of WebCrypto that cannot be exported: ${algorithm.name}`, async () => {
    const pair = await crypto.subtle.generateKey(algorithm, false, ["sign", "verify"]);
    const client = await UimClient.discover(url, { key: await webCryptoKey(pair), budget: memoryBudget("1 EUR/day") });
    await client.agree((policy) => policy.priceOf(ORDER).kind === "paid");
    const result = await client.execute(ORDER, { product: "lämp" });
    assert.equal(result.charge.state, "captured");
    assert.deepEqual((await client.checkReceipt(result, ORDER, { product: "lämp" })).problems, []);
    const answer = await wrapFetch(fetch, client)(client.endpoints.execute, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ intent_uid: ORDER, parameters: { product: "desk" } }),
    });
    assert.equal(answer.status, 200);
  });
}

test("refuses files", async () => {
  await assert.rejects(keyFromFile("agent.pem"), { name: "OptionsError", message: /needs Node\.js/ });
  await assert.rejects(fileSession("session.json").load(), /needs Node\.js/);
});
