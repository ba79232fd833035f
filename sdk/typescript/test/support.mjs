// What the tests share: the gateway that the Go test has started, and its control.
import { generateKey, UimClient } from "uimgate";

export const url = process.env.UIMGATE_URL;
export const SEARCH = "shop.example:search:v1"; // free
export const ORDER = "shop.example:order:v1"; // 0.25 EUR
const control = process.env.UIMGATE_CONTROL;

/** The number of calls that reached the upstream. */
export const upstreamCalls = async () => (await fetch(`${control}/calls`)).json();
/** Replaces the policy of the gateway. */
export const offer = async (policy) => send("policy", JSON.stringify(policy));
/** Moves the clock of the gateway, such as by 1h. */
export const pass = async (d) => send(`pass?d=${d}`);
/** Makes the upstream reject calls ("reject"), break connections ("break"), or respond (""). */
export const upstream = async (mode) => send(`mode?m=${mode}`);

async function send(path, body) {
  const answer = await fetch(`${control}/${path}`, { method: "POST", body });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
}

/** A policy with prices by intent. */
export const policyOf = (uid, prices) => ({
  "@context": "http://www.w3.org/ns/odrl.jsonld",
  type: "Set",
  uid,
  profile: "http://example.com/profile/odrl-uim",
  permission: Object.entries(prices).map(([target, amount]) => ({
    target,
    action: "execute",
    ...(amount ? { duty: [{ action: "pay", amount, unit: "EUR" }] } : {}),
  })),
});

/** Records the requests of a client, and lets a test change what happens to them. */
export function recorder() {
  const requests = [];
  const it = {
    requests,
    count: (path) => requests.filter((r) => new URL(r.url).pathname.endsWith(path)).length,
    /** Is called with the response to a request; may throw or return another. */
    after: async (response) => response,
    fetch: async (input, init) => {
      requests.push({ url: String(input), headers: new Headers(init?.headers), body: init?.body });
      return it.after(await fetch(input, init), String(input));
    },
  };
  return it;
}

/** A client of the gateway with a key of its own, that has agreed. */
export async function agreed(options = {}) {
  const client = await UimClient.discover(url, { key: await generateKey(), onWarning: () => {}, sleep: async () => {}, ...options });
  await client.agree((await client.policy()).digest);
  return client;
}
