import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { after, test } from "node:test";
import { generateKey, memoryBudget, UimClient, wrapFetch } from "uimgate";
import { agreed, ORDER, pass, recorder, SEARCH, upstreamCalls, url } from "./support.mjs";

const other = createServer((request, response) => {
  other.seen.push(request.headers);
  response.end("{}");
}).listen(0, "127.0.0.1");
other.seen = [];
await once(other, "listening");
after(() => other.close());
const elsewhere = `http://127.0.0.1:${other.address().port}`;

const order = (product, id = 1) => ({
  method: "POST",
  headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
  body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "order_v1", arguments: { product } } }),
});
const setUp = async (budget = "100 EUR/day") => {
  const seen = recorder();
  const client = await agreed({ fetch: seen.fetch, budget: memoryBudget(budget) });
  return { seen, client, fetch: wrapFetch((to, init) => seen.fetch(to, init), client), mcp: client.endpoints.mcp };
};

test("no other origin gets a token, a proof or a key", async () => {
  const { fetch } = await setUp();
  await fetch(`${elsewhere}/mcp`, order("lamp"));
  await fetch(new Request(`${elsewhere}/mcp`, order("lamp")));
  for (const headers of other.seen) {
    for (const name of ["authorization", "uim-proof", "idempotency-key"]) assert.equal(headers[name], undefined);
  }
  assert.equal(other.seen.length, 2);
});

test("no redirect is followed with a token", async () => {
  const { client } = await setUp();
  const before = other.seen.length;
  const fetch = wrapFetch(async () => new Response(null, { status: 307, headers: { Location: elsewhere } }), client);
  await assert.rejects(fetch(client.endpoints.mcp, order("lamp")), { name: "RedirectError" });
  await assert.rejects(fetch(client.endpoints.agents), { name: "RedirectError" });
  assert.equal(other.seen.length, before);
});

test("takes a Request, bytes and a stream, and calls over HTTP", async () => {
  const { fetch, client } = await setUp();
  const body = JSON.stringify({ intent_uid: ORDER, parameters: { product: "lamp" } });
  const headers = { "Content-Type": "application/json" };
  const execute = client.endpoints.execute;
  for (const answer of [
    await fetch(new Request(execute, { method: "POST", headers, body })),
    await fetch(execute, { method: "POST", headers, body: new TextEncoder().encode(body) }),
    await fetch(new URL(execute), { method: "POST", headers, body: new Blob([body]).stream(), duplex: "half" }),
    await fetch(`${execute}/${ORDER}`, { method: "POST", headers, body: JSON.stringify({ parameters: { product: "lamp" } }) }),
  ]) {
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get("uim-charge"), /^0\.25 EUR; .*state=captured$/);
    assert.deepEqual(await answer.json(), { product: "lamp" });
  }
});

test("renews a token that has expired, and calls again with a new proof", async () => {
  const { fetch, mcp, seen } = await setUp();
  await pass("2h");
  const answers = await Promise.all([1, 2, 3].map((n) => fetch(mcp, order(`lamp ${n}`, n))));
  for (const answer of answers) assert.match(JSON.stringify(await answer.json()), /state=captured/);
  assert.equal(seen.count("/pat/renew"), 1);
});

test("repeats a call whose response was lost under one key", async () => {
  const { fetch, mcp, seen } = await setUp("0.30 EUR/day");
  const before = await upstreamCalls();
  let failures = 2;
  seen.after = async (response, to) => {
    if (to !== mcp || failures-- <= 0) return response;
    await response.arrayBuffer();
    throw Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNRESET" } });
  };
  const result = await (await fetch(mcp, order("lamp"))).json();
  assert.equal(result.result._meta["Idempotency-Replayed"], "true");
  assert.equal(await upstreamCalls(), before + 1);
  await assert.rejects(fetch(mcp, order("desk")), { name: "BudgetError" });
});

test("a call without any response stays spent, one that is refused does not", async () => {
  const { fetch, mcp, seen } = await setUp("0.30 EUR/day");
  const wrong = await (await fetch(mcp, { ...order(""), body: order("x").body.replace('"product":"x"', '"colour":1') })).json();
  assert.equal(wrong.result.isError, true);
  seen.after = async (response, to) => {
    if (to === mcp) throw Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNRESET" } });
    return response;
  };
  const keyed = { ...order("lamp"), body: order("lamp").body.replace('"arguments"', '"_meta":{"Idempotency-Key":"task-7"},"arguments"') };
  await assert.rejects(fetch(mcp, keyed), { name: "LostError", idempotencyKey: "task-7" });
  await assert.rejects(fetch(mcp, order("lamp")), { name: "BudgetError" });
});

test("proves what is called by another tool, and by UID", async () => {
  const { fetch, mcp } = await setUp();
  for (const params of [
    { name: ORDER, arguments: { product: "lamp" } },
    { name: "call_intent", arguments: { uid: ORDER, parameters: { product: "lamp" } } },
    { name: "call_intent", arguments: { uid: "order_v1", parameters: { product: "lamp" } } },
  ]) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const answer = await (await fetch(mcp, { ...order(""), body })).json();
    assert.match(answer.result?._meta["UIM-Charge"] ?? JSON.stringify(answer), /^0\.25 EUR; .*state=captured$/, JSON.stringify(params));
  }
});

test("asks before calls that cost, and only then", async () => {
  const client = await agreed();
  const asked = [];
  const fetch = wrapFetch(globalThis.fetch, client, { approve: (call) => asked.push(call.intent) < 2 });
  const free = {
    ...order(""),
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "search_v1", arguments: { query: "lamp" } } }),
  };
  assert.equal((await fetch(client.endpoints.mcp, free)).status, 200);
  assert.equal((await fetch(client.endpoints.mcp, order("lamp"))).status, 200);
  await assert.rejects(fetch(client.endpoints.mcp, order("lamp")), { name: "ApprovalError" });
  assert.deepEqual(asked, [ORDER, ORDER]);
  await assert.rejects(
    wrapFetch(globalThis.fetch, await UimClient.discover(url, { key: await generateKey() }))(client.endpoints.mcp, free),
    { name: "NotAgreedError" },
  );
  assert.ok(SEARCH);
});
