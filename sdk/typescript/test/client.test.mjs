import assert from "node:assert/strict";
import { test } from "node:test";
import { BudgetError, canonical, generateKey, memoryBudget, parseJson, PolicyChangedError, RefusalError, UimClient, verifyReceipt } from "uimgate";
import { agreed, offer, ORDER, policyOf, recorder, SEARCH, upstreamCalls, url } from "./support.mjs";

test("discovers a service, and computes the digest that its ETag states", async () => {
  const client = await UimClient.discover(url, { key: await generateKey() });
  assert.equal(client.issuer, "shop.example");
  assert.deepEqual(
    client.intents.map((i) => [i.uid, i.safe]),
    [
      [SEARCH, true],
      [ORDER, false],
    ],
  );
  assert.deepEqual(client.intent(ORDER).inputSchema, {
    type: "object",
    properties: { product: { type: "string" } },
    required: ["product"],
    additionalProperties: false,
  });
  const policy = await client.policy();
  const served = await fetch(client.endpoints.policy);
  assert.equal(`"${policy.digest}"`, served.headers.get("etag").replace(/^W\//, ""));
  assert.equal(canonical(policy.document), canonical(parseJson(await served.text())));
  assert.deepEqual(policy.priceOf(ORDER), { kind: "paid", most: { amount: "0.25", currency: "EUR" } });
  assert.deepEqual(policy.priceOf(SEARCH), { kind: "free" });
  assert.equal(client.agreement, undefined);
});

test("explains the policy in the sentences of the service", async () => {
  const client = await UimClient.discover(url, { key: await generateKey() });
  const policy = await client.policy();
  const text = await policy.explain();
  assert.ok(text.includes(policy.digest) && text.includes(policy.uid));
  assert.match(text, /What is permitted\n\n- [^]*shop\.example:order:v1/);
  assert.match(text, /0\.25 EUR/);
});

test("signs the accepted policy, and no other", async () => {
  const seen = recorder();
  const client = await UimClient.discover(url, { key: await generateKey(), fetch: seen.fetch });
  const { digest } = await client.policy();
  const other = `sha-256:${"A".repeat(43)}`;
  await assert.rejects(client.agree(other), (e) => e instanceof PolicyChangedError && e.agreed === other && e.offered === digest);
  await assert.rejects(client.agree("yes"), { name: "OptionsError" });
  await assert.rejects(
    client.agree(() => false),
    { name: "ApprovalError" },
  );
  await assert.rejects(client.execute(SEARCH, { query: "lamp" }), { name: "NotAgreedError" });
  assert.equal(seen.count("/pat/issue"), 0);
  const agreement = await client.agree((policy) => policy.digest === digest, { scope: [SEARCH] });
  assert.deepEqual(agreement.scope, [`${SEARCH}:execute`]);
  assert.equal(agreement.policyDigest, digest);
  assert.ok(agreement.expiresAt > new Date());
});

test("calls what is free, and states the limits", async () => {
  const seen = recorder();
  const client = await agreed({ fetch: seen.fetch });
  const result = await client.execute(SEARCH, { query: "lämp" });
  assert.deepEqual({ ...result.output }, { query: "lämp" });
  assert.equal(result.charge, undefined);
  assert.equal(result.attempts, 1);
  assert.ok(result.requestId);
  assert.ok(result.rateLimit.remaining > 0);
  const { headers } = seen.requests.at(-1);
  assert.equal(headers.get("idempotency-key"), null);
});

test("makes no call that costs without a budget or an approval", async () => {
  const client = await agreed();
  const before = await upstreamCalls();
  await assert.rejects(client.execute(ORDER, { product: "lamp" }), (e) => e instanceof BudgetError && /0\.25 EUR/.test(e.message));
  await assert.rejects(client.execute(ORDER, { product: "lamp" }, { budget: "0.24 EUR" }), { name: "BudgetError" });
  await assert.rejects(client.execute(ORDER, { product: "lamp" }, { budget: "1 USD" }), { name: "BudgetError" });
  await assert.rejects(client.execute(ORDER, { product: "lamp" }, { approve: () => false }), { name: "ApprovalError" });
  assert.equal(await upstreamCalls(), before);
});

test("pays with a proof, once for each key, and gets a receipt that verifies", async () => {
  const client = await agreed({ budget: memoryBudget("1 EUR/day") });
  const asked = [];
  const approve = (call, price) => asked.push([call.intent, call.parameters.product, price.most.amount]);
  const result = await client.execute(ORDER, { product: "lamp" }, { idempotencyKey: "task-1", approve });
  assert.deepEqual(asked, [[ORDER, "lamp", "0.25"]]);
  assert.equal(`${result.charge.amount} ${result.charge.currency} ${result.charge.state}`, "0.25 EUR captured");
  assert.equal(result.replayed, false);
  const again = await client.execute(ORDER, { product: "lamp" }, { idempotencyKey: "task-1" });
  assert.equal(again.replayed, true);
  assert.equal(again.charge.id, result.charge.id);
  const checked = await client.checkReceipt(result, ORDER, { product: "lamp" });
  assert.deepEqual(checked.problems, []);
  assert.ok(checked.ok && checked.entry.amount === "0.25");
  const wrong = await client.checkReceipt(result, ORDER, { product: "desk" });
  assert.deepEqual(
    wrong.problems.map((p) => p.name),
    ["REQUEST"],
  );
  const forged = { ...result, receipt: result.receipt.replace(/.{6}$/, "AAAAAA") };
  assert.equal((await client.checkReceipt(forged, ORDER, { product: "lamp" })).entry, undefined);

  // later, without a client: with the stored keys, call and text of the output
  const jwks = await (await fetch(client.endpoints.jwks)).json();
  const named = async (receipt, keys, call) => (await verifyReceipt(receipt, keys, call)).problems.map((p) => p.name);
  const kept = { intent: ORDER, parameters: { product: "lamp" }, text: result.text };
  assert.equal((await verifyReceipt(result.receipt, jwks, kept)).entry.amount, "0.25");
  assert.deepEqual(await named(result.receipt, jwks, kept), []);
  assert.deepEqual(await named(result.receipt, jwks, { ...kept, parameters: { product: "desk" }, text: "{}" }), ["REQUEST", "ANSWER"]);
  assert.deepEqual(await named(forged.receipt, jwks, kept), ["SIGNATURE"]);
  assert.deepEqual(await named(result.receipt, { keys: jwks.keys.filter((key) => key.uim_purpose !== "receipt") }, kept), ["KEY"]);
});

test("types the errors of a service by reason, with all violations", async () => {
  const client = await agreed();
  await assert.rejects(client.execute(SEARCH, { query: 1, colour: "red" }), (e) => {
    assert.ok(e instanceof RefusalError && e.status === 400 && e.code === "INVALID_PARAMETER");
    assert.deepEqual(e.violations.map((v) => v.pointer).sort(), ["/parameters/colour", "/parameters/query"]);
    assert.ok(e.suggestion && e.requestId && e.helpUrl.includes("/errors/"));
    return true;
  });
  await assert.rejects(client.execute("shop.example:nothing:v1", {}, { approve: () => true }), (e) => e.is("INTENT_NOT_FOUND"));
});

test("revokes its token", async () => {
  const client = await agreed();
  await client.revoke();
  await assert.rejects(client.execute(SEARCH, { query: "lamp" }), { name: "NotAgreedError" });
});

test("prints no secret", async () => {
  const client = await agreed({ key: await generateKey() });
  const { inspect } = await import("node:util");
  const text = inspect(client, { depth: 10, showHidden: true }) + JSON.stringify(client);
  assert.doesNotMatch(text, /eyJ/);
});

test("chooses a plan, and changes it by a new agreement", async () => {
  const plans = policyOf("https://shop.example/policy/plans", { [ORDER]: "0.25" });
  for (const [plan, most] of Object.entries({ free: 2, pro: 3 })) {
    plans.permission.push({
      target: SEARCH,
      action: "execute",
      constraint: [
        { leftOperand: "uim:plan", operator: "eq", rightOperand: plan },
        { leftOperand: "count", operator: "lteq", rightOperand: most, unit: "day" },
      ],
    });
  }
  await offer(plans);
  const client = await agreed();
  const { digest } = await client.policy();
  const search = (query) => client.execute(SEARCH, { query }, { approve: () => true });
  await assert.rejects(search("lamp"), (e) => e.is("PLAN_REQUIRED"));
  await assert.rejects(client.agree(digest, { plan: "partner" }), (e) => e.is("UNKNOWN_PLAN") && e.details.plans.join() === "free,pro");
  await client.agree(digest, { plan: "free" });
  await search("lamp 1");
  await search("lamp 2");
  await assert.rejects(search("lamp 3"), (e) => e instanceof RefusalError && e.status === 429);
  await client.agree(digest, { plan: "pro" });
  await search("lamp 4"); // earlier use still counts
  await assert.rejects(search("lamp 5"), (e) => e instanceof RefusalError && e.status === 429);
});
