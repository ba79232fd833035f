import { DiscoveryError } from "./errors.js";
import type { Fetch } from "./exchange.js";
import { isObject, parseObject } from "./json.js";
import { isNode, nodeModule } from "./platform.js";

/** Returns the URLs of agents.json that the DNS records of a domain name, best first. It returns none if there are no such records. */
export type Locate = (domain: string, signal: AbortSignal) => Promise<string[]>;

const MAX_RECORDS = 256;
const KEYS = new Map([
  ["uim-agents-file", true],
  ["uim-agents", true],
]);

/** locate looks up both names of a domain: _uim.<domain>, and the domain itself (UIM core 5.1). */
async function locate(domain: string, lookUp: (name: string) => Promise<string[]>): Promise<string[]> {
  const out: string[] = [];
  for (const name of [`_uim.${domain}`, domain]) {
    for (const text of (await lookUp(name)).slice(0, MAX_RECORDS)) {
      const [key = "", ...value] = text.split("=");
      const url = value.join("=").trim();
      if (KEYS.has(key.trim().toLowerCase()) && /^[\x21-\x7e]{1,2048}$/.test(url) && !out.includes(url)) out.push(url);
    }
  }
  return out;
}

/** Looks up domains with the DNS servers of the system. It needs Node.js. */
export const systemDns: Locate = async (domain) => {
  const dns = await nodeModule<typeof import("node:dns/promises")>("dns/promises", "the DNS of the system");
  const resolver = new dns.Resolver({ timeout: 3000, tries: 2 });
  return locate(domain, async (name) => {
    try {
      return (await resolver.resolveTxt(name)).map((strings) => strings.join(""));
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === "ENODATA" || code === "ENOTFOUND") return [];
      throw new DiscoveryError(`the DNS servers did not answer the query for ${name} (${code ?? "unknown"})`);
    }
  });
};

/**
 * Looks up domains by DNS over HTTPS at a resolver with the JSON form, such as https://cloudflare-dns.com/dns-query. The resolver can see
 * which services the agent uses.
 */
export function dnsOverHttps(resolver: string, fetch: Fetch = globalThis.fetch): Locate {
  return (domain, signal) =>
    locate(domain, async (name) => {
      const url = new URL(resolver);
      if (url.protocol !== "https:") throw new DiscoveryError("the resolver of DNS over HTTPS needs an https URL");
      url.search = new URLSearchParams({ name, type: "TXT" }).toString();
      const response = await fetch(url.href, {
        headers: { Accept: "application/dns-json" },
        redirect: "error",
        credentials: "omit",
        signal,
      });
      const body = parseObject((await response.text()).slice(0, 1 << 20));
      if (!response.ok || (body.Status !== 0 && body.Status !== 3)) {
        throw new DiscoveryError(`${url.origin} did not answer the query for ${name}`);
      }
      const answers = Array.isArray(body.Answer) ? body.Answer : [];
      return answers
        .filter(isObject)
        .filter((a) => a.type === 16 && typeof a.data === "string")
        .map((a) => joined(a.data as string));
    });
}

/** joined returns the strings of a TXT record, which the JSON form quotes. */
function joined(data: string): string {
  const strings = [...data.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, s = ""]) => s.replace(/\\(.)/g, "$1"));
  return strings.length > 0 ? strings.join("") : data;
}

/** The DNS of the system in Node.js; elsewhere no DNS, so that domains are found at their well-known paths. */
export const defaultLocate: Locate = isNode ? systemDns : async () => [];
