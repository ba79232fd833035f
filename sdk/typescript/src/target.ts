import { isLoopback } from "./address.js";
import { OptionsError } from "./errors.js";

/** The addresses at which the agents.json of a service may be. */
export interface Target {
  /** The domain to look up in DNS; undefined if the caller named an address. */
  domain?: string;
  /** The URLs to try, in this order. */
  urls: URL[];
}

/**
 * Parses the URL of an agents.json, an origin or the base path of a service, or a domain with or without a port. Without a scheme, a
 * loopback host means http, and any other host https.
 */
export function parseTarget(text: string): Target {
  const wrong = new OptionsError("want the URL of an agents.json, an origin, or a domain such as shop.example");
  const trimmed = text.trim();
  if (trimmed === "" || trimmed.length > 2048 || /[\s\x7f]/.test(trimmed)) throw wrong;
  const bare = !trimmed.includes("://");
  let url: URL;
  try {
    const host = /^[0-9a-f:]*:[0-9a-f:]*:[0-9a-f.:]*$/i.test(trimmed) ? `[${trimmed}]` : trimmed;
    url = new URL(bare ? `https://${host}` : trimmed);
    if (bare && isLoopback(url.hostname)) url = new URL(`http://${host}`);
  } catch {
    throw wrong;
  }
  if ((url.protocol !== "https:" && url.protocol !== "http:") || url.hash) throw wrong;
  if (url.username || url.password) throw new OptionsError("the address of a service must not contain a user name or password");
  if (url.pathname.endsWith(".json")) return { urls: [url] };
  if (url.search) throw new OptionsError("the address of a service must not have a query");
  const base = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  const urls = [new URL(`${base}/agents.json`), new URL(`${base}/.well-known/agents.json`)];
  const isName = !url.hostname.startsWith("[") && !/^[\d.]+$/.test(url.hostname);
  if (bare && isName && !isLoopback(url.hostname) && url.port === "" && url.pathname === "/") {
    return { domain: url.hostname.replace(/\.$/, ""), urls };
  }
  return { urls };
}
