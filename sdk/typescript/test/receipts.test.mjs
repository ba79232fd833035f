// The receipts that the package keeps are verified by the program uimgate.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { fileSession, keyFromFile, memoryBudget, UimClient, wrapFetch } from "uimgate";
import { agreed, offer, ORDER, policyOf, SEARCH, url } from "./support.mjs";

const inDist = (name) => import(fileURLToPath(new URL(`../dist/esm/${name}.js`, import.meta.url)));
const { Book } = await inDist("book");
const { follow } = await inDist("follow");
const { lockFile } = await inDist("lock");

let count = 0;
/** A directory of agreements with a key, as `uimgate agent --data` has it. */
async function agentOf(options = {}) {
  const data = join(process.env.UIMGATE_DIR, `agent-${count++}`);
  const receipts = join(data, "agreements", "receipts");
  const key = await keyFromFile(join(data, "agent.pem"), { create: true });
  const warnings = [];
  const onWarning = (text) => warnings.push(text);
  const session = fileSession(join(data, "session.json"));
  const client = await agreed({ key, receipts, session, onWarning, budget: memoryBudget("100 EUR/day"), ...options });
  const book = async () => join(receipts, (await readdir(receipts)).find((name) => name.endsWith(".jsonl")));
  return { data, receipts, client, warnings, book };
}

/** Runs `uimgate agent receipts` with the directory of an agent. */
function uimgate(data, ...args) {
  return new Promise((resolve) => {
    execFile(process.env.UIMGATE_BINARY, ["agent", "--data", data, ...args], (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    );
  });
}

async function report(data, ...args) {
  const { stdout, stderr } = await uimgate(data, "receipts", "verify", "-o", "json", ...args);
  assert.ok(stdout, stderr);
  return JSON.parse(stdout);
}

test("uimgate lists, verifies and reconciles the receipts", async () => {
  const { data, client, warnings, book } = await agentOf();
  await client.execute(SEARCH, { query: "lamp" });
  const first = await client.execute(ORDER, { product: "lamp" }, { idempotencyKey: "order-1" });
  await client.execute(ORDER, { product: "lamp" }, { idempotencyKey: "order-1" });
  await client.execute(ORDER, { product: "désk 🪑" });
  const path = await book();
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  const lines = (await readFile(path, "utf8")).trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map((line) => line.type),
    ["keys", "sent", "call", "sent", "call", "sent", "call"],
  );
  assert.doesNotMatch(await readFile(path, "utf8"), /désk/);
  const listed = JSON.parse((await uimgate(data, "receipts", "list", "-o", "json")).stdout);
  assert.deepEqual(
    listed.map((line) => [line.intent, line.amount, line.state, line.problems, line.replayed === true]),
    [false, true, false].map((replayed) => [ORDER, "0.25 EUR", "captured", [], replayed]),
  );
  assert.equal(listed[0].id, first.charge.id);
  const verified = await report(data);
  assert.deepEqual([verified.ok, verified.books[0].calls, verified.books[0].receipts], [true, 2, 2]);
  const agree = await uimgate(data, "agree", url, "--yes");
  assert.equal(agree.code, 0, agree.stderr);
  const reconciled = await uimgate(data, "receipts", "reconcile", "-o", "json");
  assert.equal(reconciled.code, 0, reconciled.stdout + reconciled.stderr);
  const [{ accounts, problems }] = JSON.parse(reconciled.stdout).books;
  assert.deepEqual([problems, accounts[0].missing, accounts[0].captured], [[], 0, "0.50 EUR"]);
  assert.deepEqual(warnings, []);
});

test("calls through wrapFetch are in the book", async () => {
  const { data, client, warnings } = await agentOf();
  const proving = wrapFetch(fetch, client);
  const headers = { "Content-Type": "application/json" };
  const parameters = { product: "lamp" };
  const plain = await proving(client.endpoints.execute, { method: "POST", headers, body: JSON.stringify({ intent_uid: ORDER, parameters }) });
  assert.equal(plain.status, 200);
  const tool = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: ORDER, arguments: parameters } };
  const accept = { ...headers, Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18" };
  const message = await proving(client.endpoints.mcp, { method: "POST", headers: accept, body: JSON.stringify(tool) });
  assert.match(await message.text(), /"UIM-Charge"/);
  const { ok, books } = await report(data);
  assert.deepEqual([ok, books[0].calls, books[0].receipts, warnings], [true, 2, 2, []], JSON.stringify(books));
});

/** Verifies a bundle of evidence with the verifiers of the examples, and returns their report, which must be the same. */
async function verifyBundle(file) {
  const verify = (program, script) =>
    new Promise((resolve) => {
      const path = fileURLToPath(new URL(`../../../examples/evidence/${script}`, import.meta.url));
      execFile(program, [path, file], (_, stdout, stderr) => resolve(stdout || stderr));
    });
  const report = JSON.parse(await verify(process.execPath, "verify.mjs"));
  for (const program of ["python3", "/usr/bin/python3"]) {
    const python = await verify(program, "verify.py");
    if (!python.startsWith("{")) continue; // it is not installed, or too old
    assert.deepEqual(JSON.parse(python), report);
    break;
  }
  return report;
}

/** A policy with another text, whose terms of orders are the same. */
const retitled = (title, order = "0.25") => ({ ...policyOf("https://shop.example/policy/1", { [SEARCH]: "", [ORDER]: order }), title });

test("an export has the agreement and the policies, and others verify it", async () => {
  await offer(retitled("before"));
  const { data, client, warnings } = await agentOf();
  const agreed = client.agreement;
  await client.execute(ORDER, { product: "lamp" });
  await offer(retitled("after"));
  const later = await client.execute(ORDER, { product: "desk" });
  const checked = await client.checkReceipt(later, ORDER, { product: "desk" });
  assert.deepEqual([checked.problems, checked.entry.pol === agreed.policyDigest], [[], false]);
  await client.execute(ORDER, { product: "chair" }); // the policy is known
  assert.deepEqual([warnings, (await report(data)).ok, client.agreement.id], [[], true, agreed.id]);
  assert.equal((await uimgate(data, "agree", url, "--yes")).code, 0);
  const reconciled = await uimgate(data, "receipts", "reconcile");
  assert.equal(reconciled.code, 0, reconciled.stdout + reconciled.stderr);
  const file = join(data, "bundle.jsonl.gz");
  const exported = await uimgate(data, "receipts", "export", file);
  assert.equal(exported.code, 0, exported.stderr);
  const { problems, agreements, policies, charges } = await verifyBundle(file);
  assert.deepEqual([problems, agreements, policies], [[], 2, 2], JSON.stringify({ problems, agreements, policies, charges }));
});

test("a receipt for other terms than those agreed to is a problem", async () => {
  await offer(retitled("before"));
  const { client, warnings, receipts } = await agentOf();
  const real = client.agreement.policyDigest;
  await offer(retitled("after"));
  const result = await client.execute(ORDER, { product: "lamp" });
  assert.deepEqual(warnings, []);
  // The same receipt, for an agent whose agreement has another price.
  const session = JSON.parse(await readFile(join(receipts, "..", "..", "session.json"), "utf8"));
  session.policy = session.policy.replace('"0.25"', '"0.20"');
  await writeFile(join(receipts, "..", "..", "session.json"), JSON.stringify(session));
  const other = await UimClient.discover(url, {
    key: await keyFromFile(join(receipts, "..", "..", "agent.pem")),
    session: fileSession(join(receipts, "..", "..", "session.json")),
  });
  const { problems } = await other.checkReceipt(result, ORDER, { product: "lamp" });
  assert.deepEqual([problems.map(({ name }) => name), other.agreement.policyDigest], [["POLICY"], real]);
});

test("a charge that is not the price in the policy agreed to is a problem", async () => {
  const { data, client, receipts } = await agentOf();
  const result = await client.execute(ORDER, { product: "lamp" });
  assert.deepEqual((await client.checkReceipt(result, ORDER, { product: "lamp" })).problems, []);
  const path = join(data, "session.json");
  const session = JSON.parse(await readFile(path, "utf8"));
  session.policy = session.policy.replace('"0.25"', '"0.20"');
  await writeFile(path, JSON.stringify(session));
  const warnings = [];
  const other = await UimClient.discover(url, {
    key: await keyFromFile(join(data, "agent.pem")),
    session: fileSession(path),
    receipts,
    budget: memoryBudget("1 EUR/day"),
    onWarning: (text) => warnings.push(text),
  });
  const { ok, problems, entry } = await other.checkReceipt(result, ORDER, { product: "lamp" });
  assert.deepEqual([ok, problems.map(({ name }) => name), entry.amount], [false, ["AMOUNT"], "0.25"]);
  await other.execute(ORDER, { product: "desk" });
  assert.deepEqual(warnings.filter((text) => text.includes("AMOUNT: the charge is not the price")).length, 1, warnings.join("\n"));
  const listed = JSON.parse((await uimgate(data, "receipts", "list", "-o", "json")).stdout);
  assert.deepEqual(listed.map((line) => line.problems.map(({ name }) => name)), [[], ["AMOUNT"]]);
});

const MANY = `
import { fileSession, keyFromFile, memoryBudget, UimClient } from "uimgate";
const [data, n] = process.argv.slice(1);
const client = await UimClient.discover(${JSON.stringify(url)}, {
  key: await keyFromFile(data + "/agent.pem"), session: fileSession(data + "/session.json"), receipts: data + "/agreements/receipts",
  budget: memoryBudget("100 EUR/day"), onWarning: (text) => { console.error(text); process.exitCode = 1; },
});
for (let i = 0; i < n; i++) { await client.execute(${JSON.stringify(ORDER)}, { product: "lamp-" + i }); console.log(i); }
`;
const child = (...args) =>
  spawn(process.execPath, ["--input-type=module", "-e", MANY, ...args], { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] });

test("two processes share one book", async () => {
  const { data } = await agentOf();
  const codes = await Promise.all([child(data, "6"), child(data, "6")].map(async (c) => (await once(c, "exit"))[0]));
  assert.deepEqual(codes, [0, 0]);
  const { ok, books } = await report(data);
  assert.deepEqual([ok, books[0].calls, books[0].receipts], [true, 12, 12], JSON.stringify(books));
});

test("a killed process damages nothing", async () => {
  const { data, client, book, warnings } = await agentOf();
  const killed = child(data, "1000");
  await once(killed.stdout, "data");
  killed.kill("SIGKILL");
  await once(killed, "exit");
  const path = await book();
  const line = (await readFile(path, "utf8")).split("\n")[2];
  for (const part of [1, 20, line.length - 1]) {
    await appendFile(path, line.slice(0, part));
    const found = (await report(data)).books[0].problems;
    assert.deepEqual(found, []); // an incomplete last line is not a problem
    await client.execute(ORDER, { product: `after-${part}` });
    assert.doesNotMatch(await readFile(path, "utf8"), /[^}]\n|\}\{/);
  }
  assert.deepEqual([(await report(data)).ok, warnings], [true, []]);
});

test("an altered byte is found", async () => {
  const { data, client, book } = await agentOf();
  await client.execute(ORDER, { product: "lamp" });
  const path = await book();
  const text = await readFile(path, "utf8");
  const at = text.indexOf('"receipt":"') + 200;
  await writeFile(path, text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1));
  const { ok, books } = await report(data);
  assert.equal(ok, false);
  assert.ok(books[0].problems.some(({ name }) => name === "SIGNATURE"), JSON.stringify(books));
});

test("the keys of the agreement stay trusted, and others are refused", async () => {
  const { data, receipts, client, book } = await agentOf();
  await client.execute(ORDER, { product: "lamp" });
  const path = await book();
  const [first, ...rest] = (await readFile(path, "utf8")).split("\n");
  const record = JSON.parse(first);
  const x = record.jwks.keys[0].x;
  const { generateKey } = await import("uimgate");
  const other = await generateKey();
  record.jwks.keys = record.jwks.keys.map((key) => ({ ...key, x: other.publicKey.x, kid: other.thumbprint }));
  assert.notEqual(x, other.publicKey.x);
  await writeFile(path, [JSON.stringify(record), ...rest].join("\n"));
  const warnings = [];
  const again = await UimClient.discover(url, {
    key: await keyFromFile(join(data, "agent.pem")),
    session: fileSession(join(data, "session.json")),
    receipts,
    budget: memoryBudget("1 EUR/day"),
    onWarning: (text) => warnings.push(text),
  });
  await again.execute(ORDER, { product: "lamp" });
  assert.deepEqual(warnings.map((text) => /: ([A-Z]+):/.exec(text)[1]), ["KEY"]);
  await again.agree((await again.policy()).digest);
});

test("a book that cannot be written does not make a call fail", async () => {
  const { client, book, warnings } = await agentOf();
  await client.execute(ORDER, { product: "lamp" });
  await chmod(await book(), 0o644);
  assert.equal((await client.execute(ORDER, { product: "desk" })).status, 200);
  assert.match(warnings.join("\n"), /FILE: the receipt was not stored: other users can access/);
});

test("a full file is followed by a new one that has the keys", async () => {
  const { data, client, receipts } = await agentOf();
  await client.execute(ORDER, { product: "lamp" });
  const book = await Book.open(receipts, new URL(client.endpoints.agents), client.agentId, 4000);
  const trusted = await book.trusted();
  for (let n = 0; n < 60; n++) await book.begin(`sha-256:${"A".repeat(43)}`, Date.now());
  const names = (await readdir(receipts)).filter((name) => name.endsWith(".jsonl"));
  assert.ok(names.length > 1 && names.length <= 8, names.join(" "));
  assert.deepEqual(await book.trusted(), trusted);
  assert.deepEqual([(await report(data)).ok, (await report(data)).books.length], [true, 1]);
});

test("another program gets the lock of a file that a process uses all the time", { skip: process.platform !== "linux" }, async () => {
  const path = join(process.env.UIMGATE_DIR, "busy.lock");
  let [busy, uses, inside] = [true, 0, 0];
  const use = async () => {
    while (busy) {
      await lockFile(path, async () => {
        assert.equal(++inside, 1);
        uses++;
        await new Promise((resolve) => setImmediate(resolve));
        inside--;
      });
    }
  };
  const users = [use(), use()];
  const get = async () => (await once(spawn("flock", ["-n", path, "true"]), "exit"))[0]; // as the other programs, which do not wait
  while (uses === 0) await new Promise((resolve) => setImmediate(resolve));
  let tries = 0;
  while ((await get()) !== 0) await new Promise((resolve) => setTimeout(resolve, 10 + (tries++ % 2)));
  const waiting = spawn("flock", [path, "true"]); // and one that does
  assert.deepEqual(await once(waiting, "exit"), [0, null]);
  busy = false;
  await Promise.all(users);
});

const link = (k, more = {}) => ({ agent: "robot", currency: "EUR", epoch: 0, k, prev: `leaf-${k - 1}`, leaf: `leaf-${k}`, ...more });
for (const [name, mark, replayed, receipt, earlier, want] of [
  ["the next entry", { k: 4, epoch: 0 }, false, link(5), [link(4)], []],
  ["a gap", { k: 4, epoch: 0 }, false, link(9), [link(4)], []],
  ["another entry with the number", { k: 4, epoch: 0 }, false, link(5), [link(5, { leaf: "x" })], ["FORK"]],
  ["another predecessor", { k: 4, epoch: 0 }, false, link(5), [link(4, { leaf: "x" })], ["FORK"]],
  ["another successor", { k: 4, epoch: 0 }, false, link(5), [link(6, { prev: "x" })], ["FORK"]],
  ["an earlier receipt", { k: 5, epoch: 0 }, false, link(4), [link(4), link(5)], ["DUPLICATE"]],
  ["an earlier receipt of a repeated call", { k: 5, epoch: 0 }, true, link(4), [link(4), link(5)], []],
  ["a number that is too low", { k: 9, epoch: 0 }, false, link(5), [], ["ORDER"]],
  ["a restored state", { k: 9, epoch: 0 }, false, link(5, { epoch: 1 }), [], ["EPOCH"]],
  ["an earlier epoch", { k: 4, epoch: 2 }, false, link(5, { epoch: 1 }), [], ["ORDER"]],
  ["another agent", { k: 4, epoch: 0 }, false, link(5), [link(5, { agent: "other", leaf: "x" })], []],
  ["no earlier entry", undefined, false, link(5), [], []],
]) {
  test(`follow: ${name}`, () => {
    const places = new Map(mark ? [["EUR", mark]] : []);
    assert.deepEqual(follow(places, replayed, receipt, earlier).map((p) => p.name), want);
  });
}
