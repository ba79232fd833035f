import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileBudget, memoryBudget, parseAmount, showAmount } from "uimgate";
import { agreed, ORDER, upstreamCalls, url } from "./support.mjs";

const file = (name) => join(process.env.UIMGATE_DIR, name);
const amount = (text) => (text ? parseAmount(text) : undefined);
const START = Date.UTC(2026, 10, 23, 12, 30);
const HOUR = 3_600_000;

// A step is [milliseconds that pass, price ("" if it is not known), charge ("" nothing, "?" not known), whether it is refused].
for (const [name, limits, steps] of [
  [
    "up to the limit",
    ["1 EUR/day"],
    [
      [0, "0.6 EUR", "0.6 EUR"],
      [0, "0.4 EUR", "0.4 EUR"],
      [0, "0.01 EUR", "", true],
    ],
  ],
  [
    "an unused reservation is released",
    ["1 EUR/day"],
    [
      [0, "1 EUR", ""],
      [0, "1 EUR", ""],
    ],
  ],
  [
    "a smaller charge releases the rest",
    ["1 EUR/day"],
    [
      [0, "1 EUR", "0.3 EUR"],
      [0, "0.7 EUR", ""],
    ],
  ],
  [
    "a larger charge counts",
    ["1 EUR/day"],
    [
      [0, "0.1 EUR", "5 EUR"],
      [0, "0.1 EUR", "", true],
    ],
  ],
  [
    "an unknown charge stays reserved",
    ["1 EUR/day"],
    [
      [0, "0.6 EUR", "?"],
      [0, "0.6 EUR", "", true],
    ],
  ],
  [
    "the next day",
    ["1 EUR/day"],
    [
      [0, "1 EUR", "?"],
      [11 * HOUR, "1 EUR", "", true],
      [HOUR, "1 EUR", ""],
    ],
  ],
  [
    "the next hour, but not day",
    ["1 EUR/hour", "2 EUR/day"],
    [
      [0, "1 EUR", "?"],
      [0, "1 EUR", "", true],
      [HOUR, "1 EUR", "?"],
      [HOUR, "1 EUR", "", true],
    ],
  ],
  [
    "the next month",
    ["1 EUR/month"],
    [
      [0, "1 EUR", "?"],
      [7 * 24 * HOUR, "1 EUR", "", true],
      [24 * HOUR, "1 EUR", ""],
    ],
  ],
  [
    "the clock is set back",
    ["1 EUR/day"],
    [
      [0, "1 EUR", "?"],
      [-48 * HOUR, "1 EUR", "", true],
    ],
  ],
  ["another currency", ["1 EUR/day"], [[0, "0.1 USD", "", true]]],
  [
    "no budget",
    [],
    [
      [0, "0.1 EUR", "", true],
      [0, "", "", true],
    ],
  ],
  [
    "an unknown price counts when charged",
    ["1 EUR/day"],
    [
      [0, "", "0.7 EUR"],
      [0, "", "0.7 EUR"],
      [0, "", "", true],
    ],
  ],
  [
    "charged in another currency",
    ["1 EUR/day", "1 USD/day"],
    [
      [0, "1 EUR", "0.5 USD"],
      [0, "0.1 EUR", "", true],
      [0, "0.6 USD", "", true],
      [0, "0.5 USD", ""],
    ],
  ],
  [
    "a budget of zero",
    ["0 EUR/day"],
    [
      [0, "0.000000001 EUR", "", true],
      [0, "", "", true],
    ],
  ],
]) {
  test(name, async () => {
    let now = START;
    for (const [i, [after, price, charged, refused]] of steps.entries()) {
      now += after;
      const budget = fileBudget(file(`${name}.json`), limits, () => now); // as after a restart
      if (refused) {
        await assert.rejects(budget.reserve(amount(price)), { name: "BudgetError" }, `step ${i}`);
        continue;
      }
      const reservation = await budget.reserve(amount(price));
      if (charged !== "?") await reservation.settle(amount(charged));
    }
  });
}

test("keeps the form of uimgate mcp, and sums that a number does not hold", async () => {
  const path = file("form.json");
  const written = {
    version: 1,
    spent: {
      EUR: {
        day: { from: "2026-11-23T00:00:00Z", nano: 250000000 },
        hour: { from: "2026-11-23T12:00:00Z", nano: 250000000 },
        month: { from: "2026-11-01T00:00:00Z", nano: 0 },
      },
    },
  };
  await writeFile(path, JSON.stringify(written).replace('"nano":0', '"nano":9007199254740993'), { mode: 0o600 });
  await (await fileBudget(path, "1 EUR/day", () => START).reserve(amount("0.5 EUR"))).settle(amount("0.5 EUR"));
  const text = await readFile(path, "utf8");
  assert.match(text, /"from": "2026-11-23T00:00:00Z",\s+"nano": 750000000\b/);
  assert.match(text, /"nano": 9007199754740993\b/);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal((await stat(`${path}.lock`)).mode & 0o777, 0o600);
});

for (const text of [
  "",
  "{",
  "[]",
  '{"version": 2, "spent": {}}',
  '{"version": 1}',
  '{"version":1,"spent":{"EUR":{"day":{"from":"x","nano":1}}}}',
  '{"version":1,"spent":{"EUR":{"day":{"from":"2026-11-23T00:00:00Z","nano":-1}}}}',
  '{"version":1,"spent":{"EUR":{"day":null}}}',
]) {
  test(`a damaged file permits nothing: ${text}`, async () => {
    const path = file(`damaged-${Buffer.from(text).toString("hex").slice(0, 60)}.json`);
    await writeFile(path, text, { mode: 0o600 });
    await assert.rejects(fileBudget(path, "1 EUR/day").reserve(amount("0.1 EUR")), { name: "FileError" });
    assert.equal(await readFile(path, "utf8"), text);
  });
}

test("a file that others can read is not used", async () => {
  const path = file("open.json");
  await writeFile(path, '{"version": 1, "spent": {}}');
  await chmod(path, 0o644);
  await assert.rejects(fileBudget(path, "1 EUR/day").reserve(amount("0.1 EUR")), /other users can access/);
});

const child = (code, ...args) =>
  spawn(process.execPath, ["--input-type=module", "-e", code, ...args], { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] });

test("processes that share a file keep its limit", async () => {
  const path = file("shared.json");
  const code = `import { fileBudget, parseAmount } from "uimgate";
    const budget = fileBudget(process.argv[1], "1 EUR/day");
    const all = await Promise.allSettled(Array.from({ length: 4 }, () => budget.reserve(parseAmount("0.1 EUR"))));
    console.log(all.filter((r) => r.status === "fulfilled").length);`;
  const counts = await Promise.all(
    [1, 2, 3].map(async () => {
      const it = child(code, path);
      let out = "";
      it.stdout.on("data", (chunk) => (out += chunk));
      await once(it, "close");
      return Number(out);
    }),
  );
  assert.equal(
    counts.reduce((a, b) => a + b),
    10,
  );
});

test("a process that is killed between the reservation and the answer has spent the price", async () => {
  const path = file("killed.json");
  const before = await upstreamCalls();
  const code = `import { fileBudget, UimClient, generateKey } from "uimgate";
    const hang = async (to, init) => {
      const response = await fetch(to, init);
      if (!String(to).endsWith("/execute")) return response;
      console.log("answered");
      return new Promise(() => setInterval(() => {}, 1000));
    };
    const client = await UimClient.discover(process.argv[1], { key: await generateKey(), fetch: hang, budget: fileBudget(process.argv[2], "0.30 EUR/day") });
    await client.agree(() => true);
    await client.execute(${JSON.stringify(ORDER)}, { product: "lamp" });`;
  const it = child(code, url, path);
  await once(it.stdout, "data");
  it.kill("SIGKILL");
  await once(it, "close");
  assert.equal(await upstreamCalls(), before + 1);
  const client = await agreed({ budget: fileBudget(path, "0.30 EUR/day") });
  await assert.rejects(
    client.execute(ORDER, { product: "lamp" }),
    (e) => e.name === "BudgetError" && e.message.includes("0.25 EUR of the budget"),
  );
});

test("calls at the same time keep the limit", async () => {
  const client = await agreed({ budget: memoryBudget("1 EUR/day") });
  const calls = await Promise.allSettled([1, 2, 3, 4, 5, 6].map((n) => client.execute(ORDER, { product: `lamp ${n}` })));
  assert.equal(calls.filter((c) => c.status === "fulfilled").length, 4);
  assert.equal(showAmount(amount("1 EUR")), "1.00 EUR");
});
