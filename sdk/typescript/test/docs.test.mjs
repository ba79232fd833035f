// Runs each sample of the documentation against a gateway in front of the example shop.
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { join } from "node:path";
import { test } from "node:test";
import { url } from "./support.mjs";

const dir = fileURLToPath(new URL("../dist/samples/", import.meta.url)); // within the package, so that it finds itself and its peers
await mkdir(dir, { recursive: true });
process.chdir(process.env.UIMGATE_DIR);

const prelude = `import { generateKey as key0, memoryBudget as budget0, UimClient as Client0 } from "uimgate";
const client = await Client0.discover(${JSON.stringify(url)}, { key: await key0(), budget: budget0("5 EUR/day") });
await client.agree((policy) => policy.uid !== "");
`;

for (const page of ["docs/for-agents/typescript.md", "docs/for-agents/frameworks.md", "sdk/typescript/README.md"]) {
  const text = await readFile(new URL(`../../../${page}`, import.meta.url), "utf8");
  const samples = [...text.matchAll(/^```js\n([^]*?)^```$/gm)].map((m) => m[1]);
  test(`${page} has samples`, () => assert.ok(samples.length > 0));
  for (const [n, sample] of samples.entries()) {
    const name = `${page.replaceAll("/", "-")}-${n}.mjs`;
    const code = sample.replace(/\bSERVICE\b|"shop\.example"(?=, \{)/, JSON.stringify(url));
    test(`${page}, sample ${n + 1}: ${/[^\n]*(?:await|new) [^\n]*/.exec(sample)?.[0].trim().slice(0, 60)}`, async () => {
      const file = join(dir, name);
      await writeFile(file, sample.includes("UimClient.discover") ? code : prelude + code);
      const printed = [];
      const { log } = console;
      console.log = (...values) => printed.push(...values);
      try {
        await import(`${pathToFileURL(file)}?${Date.now()}`); // in one process: the frameworks take a second to load
      } finally {
        console.log = log;
      }
      assert.ok(printed.length > 0, "it prints something");
      assert.doesNotMatch(JSON.stringify(printed), /"error|\\"error/);
    });
  }
}
