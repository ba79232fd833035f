// node bench.mjs [CALLS]: measures the processor time of a proved call and of a plain fetch of the same body, in this process and
// in the programs that it starts. The service is another process that answers at once. Run `npm run build` before.
import { fork } from "node:child_process";
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canonical, executeDigest, generateKey, memoryBudget, policyDigest, UimClient, wrapFetch } from "uimgate";

const INTENT = "shop.example:order:v1";
const PARAMETERS = { product_id: "desk-lamp", quantity: 2, note: "für Zoë" };
const POLICY = { uid: "p", permission: [{ target: INTENT, action: "execute", duty: [{ action: "pay", amount: "0.01", unit: "EUR" }] }] };
const OUTPUT = JSON.stringify({ order_id: "o-1", total: 49.9 });

if (process.send) await serve();
else await measure(Number(process.argv[2] ?? 3000));

async function serve() {
  const part = (value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
  const digest = (bytes, encoding = "base64url") => createHash("sha256").update(bytes).digest(encoding);
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const { crv, kty, x } = publicKey.export({ format: "jwk" });
  const kid = digest(canonical({ crv, kty, x }));
  const fixed = { req: `sha-256:${await executeDigest(INTENT, PARAMETERS)}`, pol: await policyDigest(POLICY), ans: `sha-256:${digest(OUTPUT)}` };
  const head = part(canonical({ alg: "EdDSA", kid, typ: "uim-receipt+jwt" }));
  let [agent, k, prev] = ["", 0, ""];
  const charged = () => {
    const id = randomUUID();
    const account = { agent, currency: "EUR" };
    const entry = canonical({ v: "uim-entry-1", iss: "shop.example", kind: "charge", id, account, k: k++, prev, amount: "0.01", to: "captured", pat: "t", ...fixed });
    prev = digest(`\0${entry}`);
    const signed = `${head}.${part(entry)}`;
    return { "UIM-Charge": `0.01 EUR; id=${id}; state=captured`, "UIM-Receipt": `${signed}.${sign(null, Buffer.from(signed), privateKey).toString("base64url")}` };
  };
  const server = createServer((request, response) => {
    const base = `http://127.0.0.1:${server.address().port}`;
    const documents = {
      "/agents.json": {
        "uim-issuer": "shop.example",
        "uim-policy-file": `${base}/policy`,
        "uim-pat-issue": `${base}/issue`,
        "uim-api-execute": `${base}/execute`,
        "uim-jwks": `${base}/keys`,
        "uim-receipts": `${base}/receipts/{execution_id}`,
        intents: [{ intent_uid: INTENT, intent_name: "Order" }],
      },
      "/policy": POLICY,
      "/issue": { "uim-pat": `${part({})}.${part({ jti: "t", exp: 4102444800 })}.AAAA` },
      "/keys": { keys: [{ crv, kty, x, kid, uim_purpose: "receipt" }] },
    };
    let body = "";
    request.on("data", (bytes) => (body += bytes)).on("end", () => {
      if (request.url === "/issue") agent = JSON.parse(body).agent_id;
      const document = documents[request.url];
      const fields = document ? {} : charged();
      response.writeHead(200, { "Content-Type": "application/json", ...fields }).end(document ? JSON.stringify(document) : OUTPUT);
    });
  });
  server.listen(0, "127.0.0.1", () => process.send(server.address().port));
}

/** The processor time of the programs that this process has started and that have ended, in milliseconds (proc(5)); 0 where unknown. */
function ofPrograms() {
  try {
    const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1].split(" ");
    return (Number(fields[13]) + Number(fields[14])) * 10; // cutime and cstime, in hundredths of a second
  } catch {
    return 0;
  }
}

async function measure(calls) {
  const service = fork(new URL(import.meta.url));
  const [port] = await once(service, "message");
  const directory = mkdtempSync(join(tmpdir(), "uimgate-bench-"));
  const connect = async (receipts) => {
    const client = await UimClient.discover(`http://127.0.0.1:${port}`, {
      key: await generateKey(),
      budget: memoryBudget("1000000 EUR/day"),
      onWarning: (text) => {
        throw new Error(text); // the figures would be those of failures
      },
      ...(receipts ? { receipts: directory } : {}),
    });
    await client.agree(() => true);
    return client;
  };
  const client = await connect(false);
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ intent_uid: INTENT, parameters: PARAMETERS }) };
  const proving = wrapFetch(fetch, client);
  const keeping = await connect(true); // the last agent, whose name the receipts have
  const kinds = {
    "plain fetch": async () => (await fetch(client.endpoints.execute, request)).json(),
    "execute with a proof": () => client.execute(INTENT, PARAMETERS),
    "wrapFetch with a proof": async () => (await proving(client.endpoints.execute, request)).json(),
    "execute with a proof and a kept receipt": () => keeping.execute(INTENT, PARAMETERS),
  };
  const cost = async (call, n) => {
    const [before, programs] = [process.cpuUsage(), ofPrograms()];
    for (let i = 0; i < n; i++) await call();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / n / 1000 + (ofPrograms() - programs) / n;
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
  rmSync(directory, { recursive: true });
}
