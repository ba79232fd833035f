// node bench.mjs [CALLS]: measures the processor time of a proved call beside that of a plain fetch of the same body, in this process.
// The service is another process that answers at once. Run `npm run build` before.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { generateKey, memoryBudget, UimClient, wrapFetch } from "uimgate";

const INTENT = "shop.example:order:v1";
if (process.send) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const server = createServer((request, response) => {
    const base = `http://127.0.0.1:${server.address().port}`;
    const answers = {
      "/agents.json": {
        "uim-issuer": "shop.example",
        "uim-policy-file": `${base}/policy`,
        "uim-pat-issue": `${base}/issue`,
        "uim-api-execute": `${base}/execute`,
        "uim-jwks": `${base}/keys`,
        intents: [{ intent_uid: INTENT, intent_name: "Order" }],
      },
      "/policy": { uid: "p", permission: [{ target: INTENT, action: "execute", duty: [{ action: "pay", amount: "0.01", unit: "EUR" }] }] },
      "/issue": { "uim-pat": `${part({})}.${part({ jti: "t", exp: 4102444800 })}.AAAA` },
      "/keys": { keys: [] },
    };
    const answer = answers[request.url] ?? { order_id: "o-1", total: 49.9 };
    request
      .resume()
      .on("end", () =>
        response
          .writeHead(200, { "Content-Type": "application/json", "UIM-Charge": "0.01 EUR; id=e; state=captured" })
          .end(JSON.stringify(answer)),
      );
  });
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
} else {
  const calls = Number(process.argv[2] ?? 3000);
  const service = fork(new URL(import.meta.url));
  const [port] = await once(service, "message");
  const client = await UimClient.discover(`http://127.0.0.1:${port}`, {
    key: await generateKey(),
    budget: memoryBudget("1000000 EUR/day"),
  });
  await client.agree(() => true);
  const parameters = { product_id: "desk-lamp", quantity: 2, note: "für Zoë" };
  const body = JSON.stringify({ intent_uid: INTENT, parameters });
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body };
  const proving = wrapFetch(fetch, client);
  const kinds = {
    "plain fetch": async () => (await fetch(client.endpoints.execute, request)).json(),
    "execute with a proof": () => client.execute(INTENT, parameters),
    "wrapFetch with a proof": async () => (await proving(client.endpoints.execute, request)).json(),
  };
  const cost = async (call, n) => {
    const before = process.cpuUsage();
    for (let i = 0; i < n; i++) await call();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / n / 1000;
  };
  for (const call of Object.values(kinds)) await cost(call, 300); // compiles the code
  const rounds = Object.fromEntries(Object.keys(kinds).map((name) => [name, []]));
  for (let round = 0; round < 5; round++) {
    for (const [name, call] of Object.entries(kinds)) rounds[name].push(await cost(call, calls / 5));
  }
  const median = (list) => list.sort((a, b) => a - b)[2];
  const plain = median(rounds["plain fetch"]);
  for (const [name, list] of Object.entries(rounds)) {
    const more = name === "plain fetch" ? "" : `, ${(median(list) - plain).toFixed(3)} more than plain`;
    console.log(`${name}: ${median(list).toFixed(3)} ms of CPU${more}`);
  }
  service.kill();
}
