import { isLoopback } from "./address.js";
import type { Locate } from "./dns.js";
import { IssuerError } from "./errors.js";
import { clean } from "./text.js";

/**
 * Checks that a service may use the name that agreements contain. Without the check, a service could publish a copy of another service's
 * policy, have agents sign it, and use their agreements there. A host may use its own name and the names below it. It may use a name above
 * it if the DNS records of that name refer to the agents.json. A loopback host may use any name. It throws an IssuerError.
 */
export async function checkIssuer(issuer: string, agents: URL, asked: URL, locate: Locate, signal: AbortSignal): Promise<void> {
  const name = hostOfIssuer(issuer);
  const hosts = [agents.hostname, asked.hostname].map((host) => host.toLowerCase().replace(/\.$/, ""));
  if (hosts.some((host) => isLoopback(host) || host === name || (name !== "" && name.endsWith(`.${host}`)))) return;
  if (name.includes(".") && hosts.some((host) => host.endsWith(`.${name}`))) {
    const located = await locate(name, signal).catch(() => []);
    if (located.some((url) => url === agents.href)) return;
  }
  throw new IssuerError(clean(issuer), agents.host);
}

/** hostOfIssuer returns the host of an issuer that is a domain or a URL; "" if it is neither. */
function hostOfIssuer(issuer: string): string {
  try {
    return new URL(issuer.includes("://") ? issuer : `https://${issuer}`).hostname.replace(/\.$/, "");
  } catch {
    return "";
  }
}
