import { OptionsError } from "./errors.js";

/** Whether this is Node.js, or a runtime with its modules. */
export const isNode = typeof (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node === "string";

type NodeProcess = { getBuiltinModule?: (name: string) => unknown };

/** The cryptography of Node.js from 20.16 and 22.3 on, which takes a third of the processor time of WebCrypto; elsewhere undefined. */
export const nodeCrypto = isNode
  ? ((globalThis as { process?: NodeProcess }).process?.getBuiltinModule?.("node:crypto") as typeof import("node:crypto") | undefined)
  : undefined;

/**
 * Imports a module of Node.js. The name is not a literal, so bundlers for browsers do not resolve the import. It throws an OptionsError
 * outside Node.js.
 */
export async function nodeModule<T>(
  name: "fs" | "fs/promises" | "dns/promises" | "path" | "child_process" | "os",
  purpose: string,
): Promise<T> {
  if (!isNode) throw new OptionsError(`${purpose} needs Node.js`);
  const specifier = `node:${name}`;
  return (await import(/* webpackIgnore: true */ /* @vite-ignore */ specifier)) as T;
}
