import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import dns from "node:dns/promises";
import { syncBuiltinESMExports } from "node:module";
import { AddressError, generateKey, UimClient, wrapFetch } from "uimgate";

const { checkAddresses, guardedFetch } = await import(fileURLToPath(new URL("../dist/esm/guard.js", import.meta.url)));
const of = (...addresses) => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

for (const [host, addresses, refused] of [
  ["shop.example", ["93.184.216.34"], false],
  ["shop.example", ["2606:2800:220:1:248:1893:25c8:1946"], false],
  ["shop.example", ["93.184.216.34", "10.0.0.1"], true],
  ["shop.example", ["127.0.0.1"], true],
  ["shop.example", ["169.254.169.254"], true],
  ["shop.example", ["100.64.1.1"], true],
  ["shop.example", ["::1"], true],
  ["shop.example", ["fd00::1"], true],
  ["shop.example", ["fe80::1%eth0"], true],
  ["shop.example", ["::ffff:10.0.0.1"], true],
  ["shop.example", ["64:ff9b::a00:1"], true],
  ["localhost", ["127.0.0.1", "::1"], false],
  ["localhost", ["93.184.216.34"], true],
]) {
  test(`${host} with ${addresses} is ${refused ? "refused" : "accepted"}`, () => {
    const check = () => checkAddresses(host, of(...addresses));
    if (refused) assert.throws(check, AddressError);
    else check();
  });
}

test("a runtime with other connections looks the name up before the request", async (t) => {
  const symbol = Symbol.for("undici.globalDispatcher.1");
  new Request("http://127.0.0.1"); // loads what fetch uses
  const usual = globalThis[symbol];
  const seen = [];
  class OfAnotherRuntime {
    dispatch(options, handler) {
      seen.push(options.origin);
      return usual.dispatch(options, handler);
    }
  }
  const server = createServer((_, response) => response.end("{}")).listen(0, "127.0.0.1");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  const { port } = server.address();
  const asked = [];
  const guarded = guardedFetch(async (host) => {
    asked.push(host);
    return of(host === "localhost" ? "127.0.0.1" : "10.0.0.1");
  });
  globalThis[symbol] = new OfAnotherRuntime();
  try {
    await assert.rejects(guarded(`http://shop.example:${port}/`), AddressError);
    assert.deepEqual(seen, []);
    for (const host of ["localhost", "127.0.0.1"]) assert.equal(await (await guarded(new Request(`http://${host}:${port}/`))).text(), "{}");
  } finally {
    globalThis[symbol] = usual;
  }
  assert.deepEqual([asked, seen], [["shop.example", "localhost"], [`http://localhost:${port}`, `http://127.0.0.1:${port}`]]);
});

test("wrapFetch checks the addresses of the global fetch", async (t) => {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const server = createServer((request, response) => {
    const base = `http://127.0.0.1:${server.address().port}`;
    const documents = {
      "/agents.json": { "uim-mcp": "https://shop.example/mcp", "uim-policy-file": `${base}/policy`, "uim-pat-issue": `${base}/issue`, intents: [] },
      "/policy": { uid: "p", permission: [] },
      "/issue": { "uim-pat": `${part({})}.${part({ jti: "t", exp: 4102444800 })}.AAAA` },
    };
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(documents[request.url] ?? {}));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const usual = dns.lookup;
  dns.lookup = async () => of("10.0.0.1");
  syncBuiltinESMExports();
  t.after(() => {
    dns.lookup = usual;
    syncBuiltinESMExports();
    server.close();
    server.closeAllConnections();
  });
  const client = await UimClient.discover(`http://127.0.0.1:${server.address().port}`, { key: await generateKey() });
  await client.agree(() => true);
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "order_v1", arguments: {} } };
  for (const message of [{ jsonrpc: "2.0", id: 1, method: "tools/list" }, call]) {
    const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(message) };
    const sent = wrapFetch(fetch, client, { approve: () => true })(client.endpoints.mcp, request);
    await assert.rejects(sent, (error) => error instanceof AddressError && /10\.0\.0\.1/.test(error.message));
  }
  const own = [];
  const unchecked = async (to) => own.push(to) && new Response("{}");
  await wrapFetch(unchecked, client)(client.endpoints.mcp, { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) });
  assert.deepEqual(own, ["https://shop.example/mcp"]);
});

test("a name with an address of this machine gets no request, and localhost does", async () => {
  const seen = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.host);
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  let asked = 0;
  const guarded = guardedFetch(async () => {
    asked++;
    return of("127.0.0.1");
  });
  const failure = await guarded(`http://shop.example:${port}/`).catch((error) => error);
  assert.ok(failure.cause instanceof AddressError, String(failure));
  await assert.rejects(UimClient.discover(`https://shop.example:${port}`, { key: await generateKey(), fetch: guarded, locate: async () => [] }), (e) =>
    /not on the public internet/.test(e.message),
  );
  assert.deepEqual(seen, []);
  assert.equal(await (await guarded(`http://localhost:${port}/`)).text(), "{}");
  assert.deepEqual([asked >= 3, seen], [true, [`localhost:${port}`]]);
  server.close();
  server.closeAllConnections();
});
