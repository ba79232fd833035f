import { utf8 } from "./encoding.js";

/** The longest name of a tool, in characters. */
const MAX = 48;

/**
 * Returns the UIDs of intents by the names of their tools at the MCP endpoint: name_version, with hyphens for dots. A name that is too long
 * or that occurs in several namespaces ends with six digits of SHA-256 over the UID, or with 32 if two names would be equal.
 */
export async function toolNames(uids: readonly string[]): Promise<Map<string, string>> {
  const namespaces = new Map<string, Set<string>>();
  for (const uid of uids) {
    const [namespace = "", name = ""] = uid.split(":");
    namespaces.set(name, (namespaces.get(name) ?? new Set()).add(namespace));
  }
  const short = new Map<string, Set<string>>();
  for (const uid of uids) {
    const name = plain(uid);
    const several = (namespaces.get(uid.split(":")[1] ?? "")?.size ?? 0) > 1;
    const used = name.length > MAX || several ? await suffixed(name, uid, 6) : name;
    short.set(used, (short.get(used) ?? new Set()).add(uid));
  }
  const out = new Map<string, string>();
  for (const [name, same] of short) {
    for (const uid of same) out.set(same.size === 1 ? name : await suffixed(plain(uid), uid, 32), uid);
  }
  return out;
}

function plain(uid: string): string {
  const [, name = "", version = ""] = uid.split(":");
  return `${name}_${version.replaceAll(".", "-")}`;
}

async function suffixed(name: string, of: string, digits: number): Promise<string> {
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(of)));
  const hex = [...sum].map((b) => b.toString(16).padStart(2, "0")).join("");
  return `${name.slice(0, MAX - 1 - digits)}-${hex.slice(0, digits)}`;
}
