// Services that are broken or hostile. Each test has a server of its own.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { after, test } from "node:test";
import { dnsOverHttps, generateKey, UimClient } from "uimgate";

const key = await generateKey();
const servers = [];
after(() => servers.forEach((s) => s.close()));

/** Starts a server that responds by path, and records what it gets. */
async function serve(routes) {
  const seen = [];
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      seen.push({ path: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() });
      const route = routes(`http://127.0.0.1:${server.address().port}`)[request.url.split("?")[0]];
      if (!route) return response.writeHead(404).end();
      route(response, seen.at(-1));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  servers.push(server);
  return { url: `http://127.0.0.1:${server.address().port}`, seen };
}

const json =
  (value, status = 200, headers = {}) =>
  (response) =>
    response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(value));
const text =
  (body, headers = {}) =>
  (response) =>
    response.writeHead(200, headers).end(body);
const flood = (bytes) => (response) => {
  response.writeHead(200, { "Content-Type": "application/json" });
  const chunk = Buffer.alloc(1 << 16, 0x20);
  const send = () => {
    for (; bytes > 0;) {
      bytes -= chunk.length;
      if (!response.write(chunk)) return response.once("drain", send);
    }
    response.end("{}");
  };
  send();
};

const SEARCH = "shop.example:search:v1";
const policy = { uid: "p", permission: [{ target: SEARCH, action: "execute" }] };
const agents = (base, more = {}) => ({
  "uim-issuer": "shop.example",
  "uim-policy-file": `${base}/policy`,
  "uim-pat-issue": `${base}/issue`,
  "uim-pat-renew": `${base}/renew`,
  "uim-api-execute": `${base}/execute`,
  intents: [{ intent_uid: SEARCH, intent_name: "Search", safe: true }],
  ...more,
});
const b64 = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const tokenOf = (claims) => `${b64({ alg: "EdDSA" })}.${b64(claims)}.AAAA`;
const issue = (claims = {}) => json({ "uim-pat": tokenOf({ jti: "t", exp: 4102444800, ...claims }), agreement_id: "a" });
const service = (routes = {}, more = {}) =>
  serve((base) => ({
    "/agents.json": json(agents(base, more)),
    "/policy": json(policy),
    "/issue": issue(),
    "/execute": json({ ok: true }),
    ...routes,
  }));
const discover = (target, options = {}) => UimClient.discover(target, { key, onWarning: () => {}, sleep: async () => {}, ...options });
const agreed = async (routes, options) => {
  const it = await service(routes);
  const client = await discover(it.url, options);
  await client.agree(() => true);
  return { ...it, client };
};

for (const [what, respond, message] of [
  ["HTML", text("<html>secret</html>", { "Content-Type": "text/html" }), /did not send an agents\.json/],
  ["half of a document", text('{"intents": [', { "Content-Type": "application/json" }), /invalid JSON/],
  ["a member twice", text('{"intents": [], "intents": []}'), /twice/],
  ["no intents", json({}), /no list/],
  ["a deep document", text("[".repeat(100_000)), /nested deeper/],
  ["an error", json({ error: { code: "X" } }, 500), /500/],
  ["bytes that are not UTF-8", text(Buffer.from([0x7b, 0xff, 0xfe, 0x7d])), /not UTF-8/],
]) {
  test(`agents.json is ${what}`, async () => {
    const { url } = await serve(() => ({ "/agents.json": respond, "/.well-known/agents.json": respond }));
    await assert.rejects(discover(url), (e) => e.name === "DiscoveryError" && message.test(e.message) && !/secret/.test(e.message));
  });
}

test("agents.json of 20 MB is cut off", async () => {
  const { url } = await serve(() => ({ "/agents.json": flood(20 << 20) }));
  await assert.rejects(discover(url), /more than 16777216 bytes/);
});

for (const [what, respond, message] of [
  ["HTML", text("<html></html>", { "Content-Type": "text/html" }), /not JSON/],
  ["half of its JSON", text('{"ok": tr', { "Content-Type": "application/json" }), /invalid JSON/],
  ["10 MB", flood(10 << 20), /more than 8388608 bytes/],
]) {
  test(`the response to a call is ${what}`, async () => {
    const { client } = await agreed({ "/execute": respond });
    await assert.rejects(client.execute(SEARCH), (e) => e.name === "ResponseError" && e.sent && message.test(e.message));
  });
}

test("an error page of a proxy has its status", async () => {
  const { client } = await agreed({
    "/execute": (response) => response.writeHead(403, { "Content-Type": "text/html" }).end("<h1>no</h1>"),
  });
  await assert.rejects(client.execute(SEARCH), (e) => e.name === "RefusalError" && e.status === 403 && e.reason === "");
});

test("no token and no signature follow a redirect", async () => {
  const other = await serve(() => ({ "/execute": json({}), "/issue": issue(), "/renew": issue() }));
  const away = (path) => (response) => response.writeHead(307, { Location: other.url + path }).end();
  const { client } = await agreed({ "/execute": away("/execute"), "/renew": away("/renew") });
  await assert.rejects(client.execute(SEARCH), { name: "RedirectError" });
  await assert.rejects(client.renew(), { name: "RedirectError" });
  const signing = await discover((await service({ "/issue": away("/issue") })).url);
  await assert.rejects(
    signing.agree(() => true),
    { name: "RedirectError" },
  );
  assert.deepEqual(other.seen, []);
});

test("documents follow redirects, but not without end, and not to this machine from elsewhere", async () => {
  const it = await serve((base) => ({
    "/agents.json": (response) => response.writeHead(302, { Location: "/moved.json" }).end(),
    "/moved.json": json(agents(base)),
  }));
  assert.equal((await discover(it.url)).issuer, "shop.example");
  const loop = await serve(() => ({ "/agents.json": (response) => response.writeHead(302, { Location: "/agents.json" }).end() }));
  await assert.rejects(discover(loop.url), /redirects more than 5 times/);
  const fetch = async () => new Response(null, { status: 302, headers: { Location: it.url } });
  await assert.rejects(discover("https://public.example", { fetch }), /refers to the loopback address/);
});

for (const [what, url] of [
  ["http", "http://shop.example/x"],
  ["a private address", "https://10.1.2.3/x"],
  ["metadata of a cloud", "https://169.254.169.254/x"],
  ["a private IPv6 address", "https://[fd00::1]/x"],
  ["the loopback address", "http://127.0.0.1:1/x"],
  ["a password", "https://a:b@shop.example/x"],
  ["a number", "https://2130706433/x"],
  ["a file", "file:///etc/passwd"],
]) {
  test(`a service of the internet cannot send its agents to ${what}`, async () => {
    let asked = 0;
    const document = agents("https://shop.example", { "uim-policy-file": url });
    const fetch = async () => {
      asked++;
      return Response.json(document);
    };
    const client = await discover("https://shop.example", { fetch });
    await assert.rejects(client.policy(), { name: "AddressError" });
    assert.equal(asked, 1);
  });
}

test("a service cannot have agents sign for another name", async () => {
  const sent = [];
  const fetch = async (url) => {
    sent.push(String(url));
    return Response.json(String(url).endsWith("agents.json") ? agents("https://evil.example") : policy);
  };
  const client = await discover("https://evil.example", { fetch, locate: async () => [] });
  await assert.rejects(
    client.agree(() => true),
    (e) => e.name === "IssuerError" && e.issuer === "shop.example",
  );
  assert.equal(
    sent.some((url) => url.endsWith("/issue")),
    false,
  );
});

test("DNS leads to another host only for names that the domain vouches for", async () => {
  const locate = dnsOverHttps("https://dns.example/dns-query", async (url) => {
    const name = new URL(url).searchParams.get("name");
    const data = `"uim-agents=https://host.ex" "ample/${name.endsWith("shop.example") ? "shop" : "evil"}/agents.json"`;
    return Response.json(name.startsWith("_uim.") ? { Status: 0, Answer: [{ type: 16, data }] } : { Status: 3 });
  });
  const fetch = async (url) =>
    String(url).startsWith("https://host.example/") ? Response.json(agents("https://host.example")) : new Response("", { status: 404 });
  assert.equal((await discover("shop.example", { locate, fetch })).endpoints.agents, "https://host.example/shop/agents.json");
  await assert.rejects(discover("evil.example", { locate, fetch }), /does not vouch/);
});

for (const [what, answer, name] of [
  ["a token for another policy", issue({ pol_digest: `sha-256:${"A".repeat(43)}` }), "PolicyChangedError"],
  ["a token for another key", issue({ cnf: { jkt: "other" } }), "ResponseError"],
  ["a token with a line break", json({ "uim-pat": "a\r\nX: y" }), "ResponseError"],
  ["no token", json({}), "ResponseError"],
  ["HTML", text("<html></html>"), "ResponseError"],
  ["a request to wait", json({ status: "pending", agreement_id: "a-1" }, 202), "PendingError"],
]) {
  test(`an agreement is answered with ${what}`, async () => {
    const client = await discover((await service({ "/issue": answer })).url);
    await assert.rejects(
      client.agree(() => true),
      { name },
    );
    await assert.rejects(client.execute(SEARCH), { name: "NotAgreedError" });
  });
}

test("an agreement that waits for approval is sent again as it was", async () => {
  let approved = false;
  const it = await service({ "/issue": (response) => (approved ? issue()(response) : json({ status: "pending" }, 202)(response)) });
  const client = await discover(it.url);
  const { digest } = await client.policy();
  await assert.rejects(client.agree(digest), { name: "PendingError" });
  approved = true;
  await client.agree(digest);
  const bodies = it.seen.filter((r) => r.path === "/issue").map((r) => r.body);
  assert.equal(bodies.length, 2);
  assert.equal(bodies[0], bodies[1]);
});

test("texts of a service cannot control a terminal, and are bounded", async () => {
  const error = {
    code: "X\u001b[2J",
    message: `a\u001b[31m\nb\u202e${"c".repeat(9000)}`,
    details: { reason: "R", suggestion: "\u0007s", retry_after: 1e30 },
  };
  const { client } = await agreed({ "/execute": json({ error }, 400) });
  await assert.rejects(client.execute(SEARCH), (e) => {
    assert.doesNotMatch(e.message + e.suggestion, /[\u0000-\u001f\u202e]/);
    assert.ok(e.message.length < 600 && e.code === "" && e.reason === "R" && e.retryAfter <= 365 * 86400);
    return true;
  });
});

test("a service that charges more than its policy states is met with its charges", async () => {
  const PAID = "shop.example:order:v1";
  const paid = { uid: "p", permission: [{ target: PAID, action: "execute", duty: { action: "pay", amount: "0.10", unit: "EUR" } }] };
  let charge = "0.50 EUR; id=e1; state=captured";
  const { memoryBudget } = await import("uimgate");
  const { client } = await agreed(
    { "/policy": json(paid), "/execute": (response) => json({}, 200, { "UIM-Charge": charge })(response) },
    { budget: memoryBudget("1 EUR/day") },
  );
  await client.execute(PAID);
  assert.deepEqual(await client.price(PAID), { kind: "paid", most: { amount: "0.50", currency: "EUR" } });
  charge = "5 USD; id=e2; state=captured";
  await client.execute(PAID);
  await assert.rejects(client.execute(PAID), (e) => e.name === "BudgetError" && /EUR|USD/.test(e.message));
});
