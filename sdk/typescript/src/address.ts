import { AddressError } from "./errors.js";

/** Reports whether a host is this machine: localhost (RFC 6761, section 6.3) or a loopback address. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  const address = name.replace(/^\[|\]$/g, "");
  return /^127(\.\d{1,3}){3}$/.test(address) || address === "::1" || /^::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}$/.test(address);
}

/** Ranges that are not on the public internet (IANA special-purpose registries, RFC 6890), as address and length of the prefix. */
const SPECIAL: [number, number][] = (
  [
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["172.16.0.0", 12],
    ["192.0.0.0", 24],
    ["192.0.2.0", 24],
    ["192.31.196.0", 24],
    ["192.52.193.0", 24],
    ["192.88.99.0", 24],
    ["192.168.0.0", 16],
    ["192.175.48.0", 24],
    ["198.18.0.0", 15],
    ["198.51.100.0", 24],
    ["203.0.113.0", 24],
    ["224.0.0.0", 4],
    ["240.0.0.0", 4],
    ["168.63.129.16", 32],
  ] as [string, number][]
).map(([address, bits]) => [ipv4(address) ?? 0, bits]);

function ipv4(text: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  return parts?.every((n) => n < 256) ? parts.reduce((n, part) => n * 256 + part, 0) : undefined;
}

/** Reports whether the host of a URL is an address outside of the public internet. It returns false for names. */
export function isPrivateAddress(host: string): boolean {
  if (host.startsWith("["))
    return (
      !/^\[(2[0-9a-f]{3}|3[0-9a-e][0-9a-f]{2}|3ff[0-9a-e]):/.test(host) ||
      /^\[(2001:(db8|0|1[0-9a-f]{0,2}|[0-9a-f]{1,2}):|2002:)/.test(host)
    );
  const address = ipv4(host);
  return address !== undefined && SPECIAL.some(([prefix, bits]) => (address ^ prefix) >>> (32 - bits) === 0);
}

/**
 * Parses a URL, and returns it if the client may send a request to it. from is the document that contains the URL; undefined means that the
 * caller named it. A document may refer to this machine only if it came from this machine. Other hosts need https and an address on the
 * public internet.
 */
export function checkUrl(text: string | URL, from: URL | undefined, allowInsecure: boolean): URL {
  let url: URL;
  try {
    url = new URL(text, from);
  } catch {
    throw new AddressError("want an absolute URL");
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") throw new AddressError("only http and https URLs are supported");
  if (url.username || url.password) throw new AddressError("the URL contains a user name or password");
  if (allowInsecure) return url;
  if (isLoopback(url.hostname)) {
    if (from && !isLoopback(from.hostname)) throw new AddressError(`${from.origin} refers to the loopback address`);
    return url;
  }
  if (url.protocol !== "https:") throw new AddressError(`${url.origin} is not https`);
  if (isPrivateAddress(url.hostname)) throw new AddressError(`${url.hostname} is not an address of the public internet`);
  return url;
}
