// Compiles the package into dist: as modules of ECMAScript, and as CommonJS.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
rmSync(join(here, "dist"), { recursive: true, force: true });
for (const project of ["tsconfig.json", "tsconfig.cjs.json"]) {
  execFileSync(process.execPath, [tsc, "-p", project], { cwd: here, stdio: "inherit" });
}
mkdirSync(join(here, "dist", "cjs"), { recursive: true });
writeFileSync(join(here, "dist", "cjs", "package.json"), '{"type": "commonjs"}\n');
