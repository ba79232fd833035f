#!/usr/bin/env node
// Runs the program uimgate of this platform, which npm has installed as an optional dependency.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

const name = `@uimgate/${process.platform}-${process.arch}`;
let program;
try {
  program = createRequire(import.meta.url).resolve(`${name}/bin/uimgate`);
} catch {
  console.error(
    `uimgate: the package ${name} is not installed. Releases have it as an optional dependency, for Linux and macOS on x64 and ` +
      "arm64: install without --omit=optional. For other platforms, or with a package that you built yourself, build uimgate with Go.",
  );
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`uimgate: ${program} cannot be started (${error.code})`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
