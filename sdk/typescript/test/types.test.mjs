// Compiles what `uimgate types --ts` writes against the types of the package.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { test } from "node:test";

const dir = fileURLToPath(new URL("../dist/types/", import.meta.url)); // within the package, so that it finds itself
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
await mkdir(dir, { recursive: true });

/** Compiles files with the strictest checks, and returns the errors. */
async function compile(...files) {
  const options = ["--ignoreConfig", "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--types", "node", "--skipLibCheck"];
  return promisify(execFile)(process.execPath, [tsc, ...options, ...files], { cwd: dir }).then(
    () => "",
    (error) => error.stdout || error.message,
  );
}

const use = (parameters) => `import { generateKey, UimClient } from "uimgate";
import { Shop } from "./shop.js";

const client = await UimClient.discover("shop.example", { key: await generateKey() });
const { output } = await new Shop(client).placeOrderV1(${parameters});
console.log(output.order_id);
`;

test("typed code for intents compiles, that of hostile catalogues too", async () => {
  for (const name of ["shop", "hostile"]) {
    await cp(new URL(`../../../agent/stubs/testdata/${name}_ts.golden`, import.meta.url), join(dir, `${name}.ts`));
  }
  await writeFile(join(dir, "right.ts"), use('{ product_id: "desk-lamp", quantity: 1 }'));
  assert.equal(await compile("right.ts", "hostile.ts"), "");
});

test("the sample of the documentation compiles", async () => {
  const page = await readFile(new URL("../../../docs/for-agents/typescript.md", import.meta.url), "utf8");
  const samples = [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map((m) => m[1]);
  assert.equal(samples.length, 1);
  const head = 'import { generateKey, UimClient } from "uimgate";\nconst client = await UimClient.discover("shop.example", { key: await generateKey() });\n';
  await cp(new URL("../../../agent/stubs/testdata/shop_ts.golden", import.meta.url), join(dir, "shop.ts"));
  await writeFile(join(dir, "sample.ts"), head + samples[0]);
  assert.equal(await compile("sample.ts"), "");
});

test("the compiler finds a misspelt parameter", async () => {
  await writeFile(join(dir, "wrong.ts"), use('{ product: "desk-lamp" }'));
  assert.match(await compile("wrong.ts"), /wrong\.ts\(5,.*'product'/);
});
