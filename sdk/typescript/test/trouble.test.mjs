// Failures between an agent and a working gateway.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fileSession, generateKey, memoryBudget, PolicyChangedError, RefusalError, UimClient } from "uimgate";
import { agreed, offer, ORDER, pass, policyOf, recorder, SEARCH, upstream, upstreamCalls, url } from "./support.mjs";

const budget = () => memoryBudget("100 EUR/day");
const lost = () => Object.assign(new TypeError("fetch failed"), { cause: { code: "UND_ERR_SOCKET" } });

for (const hours of [-1, 1]) {
  test(`a clock that is wrong by ${hours} hour is mended by the Date of responses`, async () => {
    const warnings = [];
    const client = await agreed({ now: () => Date.now() + hours * 3_600_000, onWarning: (w) => warnings.push(w), budget: budget() });
    const result = await client.execute(ORDER, { product: "lamp" });
    assert.equal(result.charge.state, "captured");
    await client.renew();
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], hours < 0 ? /60 minutes behind/ : /60 minutes ahead/);
  });
}

test("a call whose response is lost is repeated under its key, and charged once", async () => {
  const seen = recorder();
  const client = await agreed({ fetch: seen.fetch, budget: budget() });
  const before = await upstreamCalls();
  let failures = 2;
  seen.after = async (response, to) => {
    if (!to.endsWith("/execute") || failures-- <= 0) return response;
    await response.arrayBuffer();
    throw lost();
  };
  const result = await client.execute(ORDER, { product: "lamp" });
  assert.equal(result.attempts, 3);
  assert.equal(result.replayed, true);
  assert.equal(await upstreamCalls(), before + 1);
  const calls = seen.requests.filter((r) => r.url.endsWith("/execute"));
  assert.equal(new Set(calls.map((r) => r.headers.get("idempotency-key"))).size, 1);
  assert.equal(new Set(calls.map((r) => r.headers.get("uim-proof"))).size, 3);
});

test("a call whose outcome stays unknown is a LostError with its key, and stays spent", async () => {
  const seen = recorder();
  const limited = memoryBudget("0.30 EUR/day");
  const client = await agreed({ fetch: seen.fetch, budget: limited });
  seen.after = async (response, to) => {
    if (to.endsWith("/execute")) throw lost();
    return response;
  };
  let key;
  await assert.rejects(client.execute(ORDER, { product: "lamp" }), (e) => {
    key = e.idempotencyKey;
    return e.name === "LostError" && e.cause.name === "NetworkError";
  });
  seen.after = async (response) => response;
  await assert.rejects(client.execute(ORDER, { product: "desk" }), { name: "BudgetError" });
  const result = await client.execute(ORDER, { product: "lamp" }, { idempotencyKey: key, budget: budget() });
  assert.equal(result.replayed, true);
});

test("a call that was aborted after it was sent stays spent", async () => {
  const seen = recorder();
  const client = await agreed({ fetch: seen.fetch, budget: memoryBudget("0.30 EUR/day") });
  const controller = new AbortController();
  seen.after = async (response, to) => {
    if (to.endsWith("/execute")) controller.abort();
    return response;
  };
  await assert.rejects(client.execute(ORDER, { product: "lamp" }, { signal: controller.signal }), { name: "LostError" });
  await assert.rejects(client.execute(ORDER, { product: "desk" }), { name: "BudgetError" });
});

test("a call that could not be sent costs nothing", async () => {
  const seen = recorder();
  const client = await agreed({ fetch: seen.fetch, budget: memoryBudget("0.25 EUR/day") });
  const works = seen.fetch;
  let refuse = true;
  const fetch = async (to, init) => {
    if (refuse && String(to).endsWith("/execute")) throw Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } });
    return works(to, init);
  };
  const other = await agreed({ fetch, budget: memoryBudget("0.25 EUR/day") });
  await assert.rejects(other.execute(ORDER, { product: "lamp" }), (e) => e.name === "NetworkError" && !e.sent);
  refuse = false;
  assert.equal((await other.execute(ORDER, { product: "lamp" })).charge.state, "captured");
  await client.revoke();
});

test("a call that the upstream refuses costs nothing", async () => {
  const client = await agreed({ budget: memoryBudget("0.25 EUR/day") });
  await upstream("reject");
  try {
    await assert.rejects(client.execute(ORDER, { product: "lamp" }), (e) => e.is("UPSTREAM_REJECTED") && e.charge.state === "released");
  } finally {
    await upstream("");
  }
  assert.equal((await client.execute(ORDER, { product: "lamp" })).charge.state, "captured");
});

test("the upstream breaks the connection: the outcome is unknown, and the price stays spent", async () => {
  const client = await agreed({ budget: memoryBudget("0.25 EUR/day") });
  await upstream("break");
  try {
    await assert.rejects(
      client.execute(ORDER, { product: "lamp" }),
      (e) => (e.cause ?? e) instanceof RefusalError && (e.cause ?? e).outcome === "unknown",
    );
  } finally {
    await upstream("");
  }
  await assert.rejects(client.execute(ORDER, { product: "desk" }), { name: "BudgetError" });
});

test("calls at the same time share one renewal", async () => {
  const seen = recorder();
  const client = await agreed({ fetch: seen.fetch });
  const first = client.agreement;
  await pass("59m30s"); // of the hour that a token lives
  await client.policy(); // its Date is that of the service
  const calls = await Promise.all([1, 2, 3, 4, 5].map((n) => client.execute(SEARCH, { query: String(n) })));
  assert.equal(calls.length, 5);
  assert.equal(seen.count("/pat/renew"), 1);
  assert.equal(seen.count("/pat/issue"), 1);
  assert.equal(client.agreement.id, first.id);
  assert.ok(client.agreement.expiresAt > first.expiresAt);
});

test("a token that has expired is replaced by an agreement to the same policy, once for all calls", async () => {
  const seen = recorder();
  const client = await agreed({ fetch: seen.fetch, budget: budget() });
  const { policyDigest } = client.agreement;
  await pass("2h");
  const calls = await Promise.all([1, 2, 3, 4].map((n) => client.execute(ORDER, { product: String(n) })));
  assert.deepEqual(
    calls.map((c) => c.charge.state),
    Array(4).fill("captured"),
  );
  assert.equal(seen.count("/pat/renew"), 1);
  assert.equal(seen.count("/pat/issue"), 2);
  assert.equal(client.agreement.policyDigest, policyDigest);
});

test("two clients share a kept session, and a renewal by one of them", async () => {
  const key = await generateKey();
  const session = fileSession(join(process.env.UIMGATE_DIR, "session.json"));
  const one = await agreed({ key, session });
  const seen = recorder();
  const two = await UimClient.discover(url, { key, session, fetch: seen.fetch });
  assert.equal(two.agreement.id, one.agreement.id);
  await one.renew();
  await pass("61s"); // the old token ends within a minute
  assert.equal((await two.execute(SEARCH, { query: "lamp" })).output.query, "lamp");
  assert.equal(seen.count("/pat/issue") + seen.count("/pat/renew"), 0);
  const stranger = await UimClient.discover(url, { key: await generateKey(), session });
  assert.equal(stranger.agreement, undefined);
});

test("a policy that changes is not signed by itself", async () => {
  const seen = recorder();
  const client = await agreed({ fetch: seen.fetch, budget: budget() });
  const agreements = seen.count("/pat/issue");
  const waiting = await UimClient.discover(url, { key: await generateKey() });
  const { digest } = await waiting.policy();
  await offer(policyOf("https://shop.example/policy/1", { [SEARCH]: "", [ORDER]: "0.75" }));
  // The policy that was read is not the one that is offered now.
  await assert.rejects(waiting.agree(digest), (e) => e instanceof PolicyChangedError && e.agreed === digest && e.offered !== digest);
  // Intents whose terms are the same continue; others are refused with the changes.
  assert.equal((await client.execute(SEARCH, { query: "lamp" })).output.query, "lamp");
  await assert.rejects(
    client.execute(ORDER, { product: "lamp" }),
    (e) => e instanceof PolicyChangedError && e.agreed === digest && e.changes.some((c) => /0\.75/.test(c)),
  );
  await client.renew();
  assert.equal(client.agreement.policyDigest, digest);
  assert.equal(seen.count("/pat/issue"), agreements);
  const policy = await client.policy();
  await client.agree(policy.digest);
  assert.equal((await client.execute(ORDER, { product: "lamp" })).charge.amount, "0.75");
});

test("limits are errors with the seconds to wait", async () => {
  await offer({
    ...policyOf("https://shop.example/policy/2", {}),
    permission: [
      { target: SEARCH, action: "execute", constraint: [{ leftOperand: "rateLimit", operator: "lteq", rightOperand: 2, unit: "hour" }] },
    ],
  });
  const waits = [];
  const client = await agreed({ sleep: async (ms) => waits.push(ms), maxWaitMs: 5000 });
  await client.execute(SEARCH, { query: "a" });
  assert.equal((await client.execute(SEARCH, { query: "b" })).rateLimit.remaining, 0);
  await assert.rejects(client.execute(SEARCH, { query: "c" }), (e) => e.is("RATE_LIMIT_EXCEEDED") && e.status === 429 && e.retryAfter > 60);
  assert.deepEqual(waits, []); // an hour is longer than the client waits by itself
});
