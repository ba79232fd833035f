// An agent for a service behind uimgate, with nothing but the standard library of Node.js 20.
//
//     node agent.mjs http://127.0.0.1:PORT
//
// It discovers the service, agrees to its policy, calls a free intent and a paid one, prints an error and its limits, then
// renews and revokes its token. It prints a line for each step, and exits with 0 only if every step had the result that
// docs/protocols/uim.md describes. WARNING: it really calls the paid intent, once, for at most MAX_PRICE.

import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

// The values to send, by the name of the parameter. The agent does not choose an intent that requires another parameter.
const PARAMETERS = { query: "desk", product_id: "desk-lamp", quantity: 1 };
// The decision about the policy, made beforehand: the agent calls nothing that costs more than this. Your own agent should
// also read the other duties, the constraints and the prohibitions of the policy.
const MAX_PRICE = { amount: 0.1, currency: "EUR" };

// ---- Encodings

const base64url = (data) => Buffer.from(data).toString("base64url");
const sha256 = (text) => createHash("sha256").update(text, "utf8").digest("base64url");
const now = () => Math.floor(Date.now() / 1000);

// RFC 8785. It builds the text member by member, because JSON.stringify would move names such as "10" to the front, even
// in a sorted copy of the object. sort() compares UTF-16 units, as the RFC requires.
function canonical(value) {
  if (Array.isArray(value)) return "[" + value.map(canonical).join(",") + "]";
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value).sort().map((name) => JSON.stringify(name) + ":" + canonical(value[name]));
  return "{" + members.join(",") + "}";
}

// Returns a compact JWS, signed with an Ed25519 key.
function jws(header, payload, privateKey) {
  const input = base64url(JSON.stringify({ ...header, alg: "EdDSA" })) + "." + base64url(JSON.stringify(payload));
  return input + "." + base64url(sign(null, Buffer.from(input, "ascii"), privateKey));
}

// RFC 7638. A JWK of an Ed25519 public key has the members crv, kty and x, and no others.
const thumbprint = (publicKey) => sha256(canonical(publicKey.export({ format: "jwk" })));

// ---- Requests

async function request(method, url, { token, headers = {}, body } = {}) {
  const { protocol, hostname } = new URL(url); // others could read a token on the way to another machine
  const safe = protocol === "https:" || ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
  expect(safe, `${url} is neither https nor on this machine`);
  const sent = { Accept: "application/json", ...headers };
  if (token) sent.Authorization = "Bearer " + token;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  const response = await fetch(url, {
    method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body),
    redirect: "error", signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  let json;
  try { json = JSON.parse(text); } catch { /* not JSON: json stays undefined */ }
  return { status: response.status, headers: response.headers, json, text, details: json?.error?.details ?? {} };
}

// Returns the response if its status is 200. Otherwise it throws an error that describes the refusal.
function ok(answer, what) {
  if (answer.status === 200 && answer.json) return answer;
  const { reason = "", suggestion = "" } = answer.details;
  throw new Error(`${what}: ${answer.status} ${reason} ${answer.json?.error?.message ?? answer.text.slice(0, 200)} ` +
    `${suggestion} (request ${answer.headers.get("uim-request-id")})`);
}

const expect = (condition, message) => { if (!condition) throw new Error(message); };
const say = (what, line) => console.log(`${what.padEnd(12)} ${line}`);

// ---- The agent: its key, the agreement, proofs and calls

class Agent {
  constructor(id, service) {
    this.id = id;
    this.service = service; // agents.json
    Object.assign(this, generateKeyPairSync("ed25519")); // publicKey and privateKey, in memory only
  }

  // Signs the policy, and exchanges the agreement for a token (the PAT).
  async agree(policy, scope) {
    const agreement = jws({ typ: "uim-agreement+jwt" }, {
      iss: this.id, aud: this.service["uim-issuer"], htu: this.service["uim-pat-issue"],
      iat: now(), jti: randomUUID(), policy, scope,
    }, this.privateKey);
    const body = {
      agent_id: this.id, signed_policy: agreement, scope,
      agent_public_key: this.publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    };
    const answer = await request("POST", this.service["uim-pat-issue"], { body });
    // 202: the operator approves each agent. An agent that runs for longer stores this body, and sends it again later.
    expect(answer.status !== 202, `the agreement ${answer.json?.agreement_id} waits for the approval of the operator`);
    return this.keep(ok(answer, "agreement").json);
  }

  // Binds one request to the token. Every request needs a new proof, even a repeated one.
  proof(subject) {
    return jws({ typ: "uim-proof+jwt", kid: thumbprint(this.publicKey) }, {
      iat: now(), jti: randomUUID(), aud: this.service["uim-issuer"], pat: this.claims.jti,
      digest: sha256(canonical(subject)),
    }, this.privateKey);
  }

  // Calls an intent. A call that changes or costs something has a key: the service executes it once, however often the
  // agent sends it. The agent sends a call again if there is no response, or if the service asks it to wait.
  async call(intent_uid, parameters, key) {
    const body = { intent_uid, parameters };
    for (let attempt = 1; ; attempt++) {
      const headers = key ? { "Idempotency-Key": key, "UIM-Proof": this.proof(body) } : {};
      let wait = 1;
      try {
        const answer = await request("POST", this.service["uim-api-execute"], { token: this.token, headers, body });
        const later = [429, 503].includes(answer.status) || answer.details.reason === "IDEMPOTENCY_IN_PROGRESS";
        wait = Number(answer.headers.get("retry-after"));
        if (!later || !wait || wait > 120 || attempt === 3) return answer;
      } catch (error) {
        if (attempt === 3) throw error;
      }
      await sleep(wait * 1000);
    }
  }

  // Exchanges the token for a new one of the same agreement.
  async renew() {
    const headers = { "UIM-Proof": this.proof({ renew: this.claims.jti }) };
    const answer = await request("POST", this.service["uim-pat-renew"], { token: this.token, headers });
    return this.keep(ok(answer, "renewal").json);
  }

  // The claims are the second part of the token. The signature is not verified, because the service itself sent the token.
  keep(answer) {
    this.token = answer["uim-pat"];
    this.claims = JSON.parse(Buffer.from(this.token.split(".")[1], "base64url").toString("utf8"));
    return answer;
  }

  async introspect() {
    return ok(await request("POST", this.service["uim-pat-introspect"], { token: this.token }), "introspection").json;
  }

  async revoke() {
    ok(await request("POST", this.service["uim-pat-revoke"], { body: { token: this.token } }), "revocation");
  }
}

// ---- Values in the policy, agents.json and the headers

// Returns the prices of an intent under the policy; none if it is free, and undefined if the policy does not permit it.
// The last segment of a target is the intent_uid, and the last segment of a unit is the currency.
function pricesOf(policy, intent_uid) {
  const last = (text) => String(text).split("/").pop();
  const list = (value) => (value === undefined ? [] : [value].flat());
  const permissions = list(policy.permission).filter((p) => last(p.target) === intent_uid);
  if (permissions.length === 0) return undefined;
  return permissions.flatMap((p) => list(p.duty)).filter((duty) => duty.action === "pay")
    .map((duty) => ({ amount: Number(duty.amount), currency: last(duty.unit) }));
}

// Returns the parameters for an intent from the table above; undefined if the intent requires one that is not in it.
function parametersFor(intent) {
  const parameters = {};
  for (const { name, required } of intent.input_parameters ?? []) {
    if (Object.hasOwn(PARAMETERS, name)) parameters[name] = PARAMETERS[name];
    else if (required) return undefined;
  }
  return parameters;
}

// UIM-Charge: 0.05 EUR; id=…; state=captured
function chargeOf(headers) {
  const text = headers.get("uim-charge");
  const found = /^(\S+) (\S+); *id=([^;]+); *state=(\w+)/.exec(text ?? "");
  expect(found, `this is not a charge: ${text}`);
  return { text, amount: Number(found[1]), currency: found[2], id: found[3], state: found[4] };
}

// RateLimit: "minute";r=28;t=60, "service";r=99998;t=3600
const limitsOf = (headers) => [...(headers.get("ratelimit") ?? "").matchAll(/"([^"]*)";r=(\d+);t=(\d+)/g)]
  .map(([, name, left, seconds]) => ({ name, left: Number(left), seconds: Number(seconds) }));

// ---- The steps

async function walk(address) {
  // 1. Discover, read the policy, agree.
  const service = ok(await request("GET", new URL("/agents.json", address)), "discovery").json;
  say("discovered", `${service["uim-issuer"]}: ${service.intents.length} intents`);

  const { json: policy, headers } = ok(await request("GET", service["uim-policy-file"]), "policy");
  const digest = "sha-256:" + sha256(canonical(policy));
  const etag = (headers.get("etag") ?? "").replace(/^W\//, "").replaceAll('"', "");
  expect(digest === etag, `the digest of the policy is ${digest}, but its ETag is ${etag}`);
  say("policy", `${policy.uid}, ${digest}, as in its ETag`);

  // The policy is binding, not the price in agents.json. An intent only reads if safe is true or, without safe, if the method
  // of its endpoint is GET. The agent sends every call to uim-api-execute, not to the endpoint.
  const usable = service.intents.map((intent) => ({
    uid: intent.intent_uid, intent, parameters: parametersFor(intent), prices: pricesOf(policy, intent.intent_uid),
  })).filter((choice) => choice.parameters && choice.prices);
  const free = usable.find(({ intent, prices }) => prices.length === 0 && (intent.safe ?? intent.endpoint?.method === "GET"));
  const paid = usable.find(({ prices }) => prices.length === 1 &&
    prices[0].currency === MAX_PRICE.currency && prices[0].amount <= MAX_PRICE.amount);
  expect(free, "no intent was found that is free, only reads, and has only parameters of the table");
  expect(paid, `no intent was found that costs at most ${MAX_PRICE.amount} ${MAX_PRICE.currency}`);

  const agent = new Agent("javascript-example-" + randomUUID(), service);
  const scope = [free.uid, paid.uid]; // only the intents that it calls
  const { agreement_id, expires_at, scope_omitted } = await agent.agree({ uid: policy.uid, digest }, scope);
  expect(!scope_omitted?.length, `these entries were not granted: ${JSON.stringify(scope_omitted)}`);
  say("agreed", `${agreement_id} as ${agent.id}, token until ${expires_at}`);

  // 2. Call the free intent, then the paid one twice, with one idempotency key.
  const read = ok(await agent.call(free.uid, free.parameters), free.uid);
  expect(!read.headers.has("uim-charge"), `${free.uid} is free, but charged ${read.headers.get("uim-charge")}`);
  say("free call", `${free.uid} ${JSON.stringify(free.parameters)}: ${read.text.trim().slice(0, 60)}…`);

  const key = randomUUID(); // chosen before the first attempt
  const first = ok(await agent.call(paid.uid, paid.parameters, key), paid.uid);
  const charge = chargeOf(first.headers);
  const { amount, currency } = paid.prices[0];
  expect(charge.amount === amount && charge.currency === currency, `charged ${charge.text}, not ${amount} ${currency}`);
  expect(["captured", "pending"].includes(charge.state), `the charge is ${charge.text}`);
  say("paid call", `${paid.uid} ${JSON.stringify(paid.parameters)}: charged ${amount} ${currency}, ${charge.state}`);

  const second = ok(await agent.call(paid.uid, paid.parameters, key), paid.uid + " again");
  expect(second.headers.get("idempotency-replayed") === "true", "the second response does not state that it is a repetition");
  expect(canonical(second.json) === canonical(first.json), "the repeated call has a different response");
  // A repetition states the charge of the first call again: count each id once.
  expect(chargeOf(second.headers).id === charge.id, `the repetition was charged: ${second.headers.get("uim-charge")}`);
  say("same again", `a repetition: the same response, the same charge ${charge.id}`);

  // 3. An error, and the calls that are left.
  const wrong = { ...free.parameters, no_such_parameter: true };
  const ranged = free.intent.input_parameters.find((parameter) => typeof parameter.maximum === "number");
  if (ranged) wrong[ranged.name] = ranged.maximum + 1;
  const refused = await agent.call(free.uid, wrong);
  const { reason, suggestion, help_url, violations } = refused.details;
  expect(refused.status === 400 && reason && suggestion && help_url, `wrong parameters: ${refused.status} ${refused.text}`);
  expect(violations?.length === (ranged ? 2 : 1), `an invalid parameter is missing from the error: ${JSON.stringify(violations)}`);
  say("error", `${reason}: ${suggestion} See ${help_url}`);
  for (const { pointer, reason, message } of violations) say("", `${pointer}: ${reason}, ${message}`);

  // Only responses to calls that count have the limits; the refused call did not count.
  const [narrowest] = limitsOf(read.headers).sort((a, b) => a.left - b.left);
  expect(narrowest, `the response has no limits: ${read.headers.get("ratelimit")}`);
  say("limits", `${narrowest.left} calls are left of "${narrowest.name}"; the next one becomes free in ${narrowest.seconds} s`);

  // 4. Renew, introspect, revoke.
  const old = agent.token;
  const renewed = await agent.renew();
  expect(renewed.agreement_id === agreement_id && agent.token !== old, "the renewal did not return a new token of the agreement");
  ok(await agent.call(free.uid, free.parameters), free.uid + " with the renewed token");
  say("renewed", `a new token of the same agreement, until ${renewed.expires_at}`);

  const { active, scope: granted } = await agent.introspect();
  expect(active === true, "the renewed token is not active");
  say("introspected", `active, scope ${granted}`);

  await agent.revoke();
  const ended = await agent.call(free.uid, free.parameters);
  expect(ended.status === 401 && ended.details.reason === "REVOKED_TOKEN", `revoked, but: ${ended.status} ${ended.text}`);
  expect((await agent.introspect()).active === false, "introspection reports the revoked token as active");
  say("revoked", `the service now refuses a call: ${ended.status} ${ended.details.reason}`);
}

try {
  expect(process.argv.length === 3, "usage: node agent.mjs http://127.0.0.1:PORT");
  await walk(process.argv[2]);
} catch (error) {
  console.error("failed:", error.message, error.cause?.message ?? "");
  process.exitCode = 1;
}
