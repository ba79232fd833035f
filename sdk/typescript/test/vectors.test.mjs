// Reproduces docs/protocols/vectors.json, which the Go client computes. Modules that the package does not export come from dist.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createPublicKey, verify } from "node:crypto";
import { test } from "node:test";
import {
  canonical,
  executeDigest,
  fileBudget,
  importKey,
  parseAmount,
  parseJson,
  policyDigest,
  renewDigest,
  signAgreement,
  signProof,
  verifyReceipt,
} from "uimgate";

const from = (name) => import(new URL(`../dist/esm/${name}.js`, import.meta.url));
const [
  { parseCharge },
  { parseRateLimit },
  { readRefusal },
  { readResult },
  { readToken },
  { parseTarget },
  { checkReceipt, KeySet },
  { Policy },
  { statesPrice },
  { nanoOf },
  { parseObject },
] = await Promise.all(["charge", "ratelimit", "refusal", "result", "session", "target", "receipt", "policy", "ruleprice", "money", "json"].map(from));
const v = JSON.parse(await readFile(new URL("../../../docs/protocols/vectors.json", import.meta.url), "utf8"));
const keys = new Map(await Promise.all(v.keys.accepted.map(async (k) => [k.name, await importKey(k.pem)])));
/** The members of a that b has too, so that what a vector leaves out must be absent or empty in the value. */
const plain = (value) => JSON.parse(JSON.stringify(value ?? null));
const empty = (value) => value === undefined || value === "" || value === false || (Array.isArray(value) && value.length === 0);
const compact = (value) =>
  Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => !empty(member))
      .map(([name, member]) => [name, plain(member)]),
  );
const amount = ({ amount: number, currency, id, state }) => ({ amount: number, currency, id, state });
const limit = (r) => r && { limit: r.limits.find((l) => l.remaining === r.remaining).limit, remaining: r.remaining, reset: r.reset };

test("keys", async () => {
  for (const k of v.keys.accepted) {
    const key = keys.get(k.name);
    assert.deepEqual([key.algorithm, canonical({ ...key.publicKey }), key.thumbprint], [k.alg, k.jwk, k.thumbprint]);
    assert.equal(`agent-${key.thumbprint.slice(0, 12)}`, k.agent_id);
    assert.equal(createPublicKey({ key: key.publicKey, format: "jwk" }).export({ type: "spki", format: "der" }).toString("base64"), k.spki);
  }
  for (const k of v.keys.refused) await assert.rejects(importKey(k.pem), { name: "KeyError" }, k.name);
});

test("canonical forms", () => {
  for (const { text, canonical: want } of v.canonical.exact) assert.equal(canonical(parseJson(text)), want);
  for (const text of [...v.canonical.inexact.map((x) => x.text), ...v.canonical.refused])
    assert.throws(() => parseJson(text), { name: "JsonError" }, text);
});

test("policies and calls", async () => {
  for (const p of v.policies) {
    const policy = await Policy.read(p.text, "https://shop.example/api/policy", () => "");
    assert.deepEqual([canonical(policy.document), policy.digest, policy.uid], [p.canonical, p.digest, p.uid]);
    assert.equal(await policyDigest(policy.document), p.digest);
  }
  for (const c of v.calls) {
    const parameters = parseJson(c.parameters);
    assert.equal(canonical({ intent_uid: c.intent_uid, parameters }), c.canonical);
    assert.equal(await executeDigest(c.intent_uid, parameters), c.digest);
  }
});

/** Checks a JWS: byte by byte, or by its signature where that differs each time. */
function check(jws, vector) {
  const [header, payload, signature] = jws.split(".");
  assert.equal(`${header}.${payload}`, vector.input);
  if (vector.jws) return assert.equal(jws, vector.jws);
  const key = createPublicKey({ key: keys.get(vector.key).publicKey, format: "jwk" });
  assert.ok(verify("sha256", Buffer.from(vector.input), { key, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "base64url")));
}

test("agreements", async () => {
  for (const a of v.agreements) {
    const { iss, aud, htu, iat, jti, policy, scope, declared } = a.claims;
    check(
      await signAgreement(keys.get(a.key), {
        agentId: iss,
        audience: aud,
        url: htu,
        issuedAt: iat,
        id: jti,
        policyUid: policy.uid,
        policyDigest: policy.digest,
        scope,
        declared,
      }),
      a,
    );
  }
});

test("proofs and renewals", async () => {
  for (const p of [...v.proofs, ...v.renewals]) {
    const { iat, jti, aud, pat, digest } = p.claims;
    if (p.token_id) assert.equal(await renewDigest(p.token_id), digest);
    check(await signProof(keys.get(p.key), { audience: aud, tokenId: pat, digest, issuedAt: iat, id: jti }), p);
  }
});

test("tokens", () => {
  const terms = { policyDigest: v.tokens.policy_digest, keyId: keys.get(v.tokens.key).thumbprint };
  const names = { PendingError: "pending", PolicyChangedError: "policy_changed", ResponseError: "unusable" };
  for (const { name, status, body, want } of v.tokens.answers) {
    let got;
    try {
      const s = readToken(terms, status, body, 0);
      got = {
        agreement_id: s.agreementId,
        expires_at: s.expiresAt / 1000,
        scope: s.scope,
        token: s.token,
        token_id: s.tokenId,
        scope_omitted: s.scopeOmitted,
        not_before: s.notBefore / 1000 || undefined,
      };
    } catch (error) {
      got = { error: names[error.name], agreement_id: error.agreementId, offered: error.offered };
    }
    assert.deepEqual(compact(got), compact({ ...want, scope: want.scope ?? [] }), name);
  }
});

test("results", () => {
  for (const { name, status, headers, body, want } of v.results) {
    const answer = { status, headers: new Headers(headers), text: body };
    if (want.unusable) {
      assert.throws(
        () => readResult(answer),
        (e) =>
          e.name === "ResponseError" &&
          e.sent &&
          JSON.stringify(e.charge && amount(e.charge)) === JSON.stringify(want.charge && amount(want.charge)),
        name,
      );
      continue;
    }
    const r = readResult(answer);
    const got = {
      output: r.output,
      raw: r.text,
      charge: r.charge && amount(r.charge),
      rate_limit: limit(r.rateLimit),
      request_id: r.requestId,
      replayed: r.replayed,
      receipts: r.receipt && [r.receipt],
      sunset: r.sunset && { at: r.sunset.at.getTime() / 1000, terms: r.sunset.terms },
    };
    assert.deepEqual(compact(got), compact(want), name);
  }
});

test("errors", () => {
  for (const { name, status, headers, body, want } of v.errors) {
    const e = readRefusal({ status, headers: new Headers(headers), text: body });
    const got = {
      status: e.status,
      code: e.code,
      reason: e.reason,
      suggestion: e.suggestion,
      uim_code: e.uimCode,
      request_id: e.requestId,
      outcome: e.outcome,
      retry_after: e.retryAfter,
      charge: e.charge && amount(e.charge),
      rate_limit: limit(e.rateLimit),
      changes: e.changes,
      offered: e.offered,
      upstream: e.upstream,
      receipts: e.receipt && [e.receipt],
      replayed: e.replayed,
      message: e.message.replace(`${e.reason || e.code || `the service responded with ${status}`}`, "").replace(/^: /, ""),
      violations: e.violations.map(compact),
    };
    assert.deepEqual(compact(got), compact({ ...want, request_id: want.request_id ?? (e.details.request_id ? e.requestId : "") }), name);
  }
});

test("charges and limits", () => {
  for (const { header, want } of v.charges) assert.deepEqual(plain(parseCharge(header)), want, header);
  for (const { headers, want } of v.limits)
    assert.deepEqual(plain(limit(parseRateLimit(new Headers(headers)))), want, JSON.stringify(headers));
});

test("targets", () => {
  for (const { target, urls, domain } of v.targets) {
    if (!urls) {
      assert.throws(() => parseTarget(target), { name: "OptionsError" }, target);
      continue;
    }
    const got = parseTarget(target);
    assert.deepEqual([got.urls.map((u) => u.href), got.domain ?? ""], [urls.map((u) => new URL(u).href), domain], target);
  }
});

test("receipts, and keys that trusted ones introduce", async () => {
  const set = async () => {
    const out = new KeySet();
    for (const { uim_purpose, kid, ...jwk } of JSON.parse(v.receipts.jwks).keys) await out.add(uim_purpose, kid, jwk);
    return out;
  };
  const known = await set();
  for (const { name, receipt, call, entry, problems, about_call } of v.receipts.receipts) {
    const [number, currency] = call.amount.split(" ");
    const got = await checkReceipt(known, receipt, { ...call, amount: number, currency });
    assert.deepEqual([got.problems.map((p) => p.name), got.entry !== undefined], [problems, about_call], name);
    if (about_call) assert.equal(canonical(got.entry), entry, name);
    if (!about_call && !problems.some((p) => p === "SIGNATURE" || p === "KEY")) continue;
    const kept = await verifyReceipt(receipt, JSON.parse(v.receipts.jwks), { text: v.receipts.output });
    const want = problems.filter((p) => ["SIGNATURE", "KEY", "ANSWER"].includes(p));
    assert.deepEqual(kept.problems.map((p) => p.name), want, name);
  }
  for (const { by, entry, trusted } of v.receipts.introductions) assert.equal(await (await set()).introduce(entry), trusted, by);
});

test("prices that policies state", () => {
  for (const { name, policy, rule, amount, states, found } of v.prices) {
    const [number, currency] = amount.split(" ");
    let document = {};
    try {
      document = parseObject(policy);
    } catch (error) {
      assert.equal(found, false, `${name}: ${error}`);
    }
    assert.equal(statesPrice(document, rule, nanoOf(number), currency), found ? states : undefined, name);
  }
});

test("budgets, with the file after each step", async () => {
  const path = join(process.env.UIMGATE_DIR, "vectors.json");
  let now = 0;
  const budget = fileBudget(path, v.budgets.limits, () => now);
  for (const [i, step] of v.budgets.steps.entries()) {
    now = step.now * 1000;
    const reserved = budget.reserve(parseAmount(step.price));
    if (step.refused) await assert.rejects(reserved, { name: "BudgetError" }, `step ${i}`);
    else if (step.charged !== "?") await (await reserved).settle(step.charged ? parseAmount(step.charged) : undefined);
    else await reserved;
    assert.equal(await readFile(path, "utf8"), step.file, `step ${i}`);
  }
  await writeFile(path, "");
});
