// Compiles what `uimgate types --ts` writes against the types of the package.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

const dir = fileURLToPath(new URL("../dist/types/", import.meta.url)); // within the package, so that it finds itself
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
await mkdir(dir, { recursive: true });

const use = (parameters) => `import { generateKey, UimClient } from "uimgate";
import { Shop } from "./shop.js";

const client = await UimClient.discover("shop.example", { key: await generateKey() });
const { output } = await new Shop(client).placeOrderV1(${parameters});
console.log(output.order_id);
`;

const page = await readFile(new URL("../../../docs/for-agents/typescript.md", import.meta.url), "utf8");
const samples = [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map((m) => m[1]);
const head = 'import { generateKey, UimClient } from "uimgate";\nconst client = await UimClient.discover("shop.example", { key: await generateKey() });\n';
for (const name of ["shop", "hostile"]) {
  await cp(new URL(`../../../agent/stubs/testdata/${name}_ts.golden`, import.meta.url), join(dir, `${name}.ts`));
}
await writeFile(join(dir, "right.ts"), use('{ product_id: "desk-lamp", quantity: 1 }'));
await writeFile(join(dir, "wrong.ts"), use('{ product: "desk-lamp" }'));
await writeFile(join(dir, "sample.ts"), head + samples[0]);

// One run of the compiler with the strictest checks, because each takes more than a second.
const options = ["--ignoreConfig", "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--types", "node", "--skipLibCheck"];
const files = ["right.ts", "hostile.ts", "sample.ts", "wrong.ts"];
const { stdout, stderr } = spawnSync(process.execPath, [tsc, ...options, ...files], { cwd: dir, encoding: "utf8" });

/** Returns the lines of the compiler that begin with the name of a file of the pattern, and the lines that continue them. */
function errors(name) {
  return stdout.split(/\n(?! )/).filter((line) => name.test(line)).join("\n");
}

test("typed code for intents compiles, that of hostile catalogues too", () => {
  assert.equal(errors(/^(?!sample\.ts|wrong\.ts)/) + stderr, "");
});

test("the sample of the documentation compiles", () => {
  assert.equal(samples.length, 1);
  assert.equal(errors(/^sample\.ts/), "");
});

test("the compiler finds a misspelt parameter", () => {
  assert.match(errors(/^wrong\.ts/), /^wrong\.ts\(5,[^\n]*'product'/);
});
