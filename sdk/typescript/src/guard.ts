import type { LookupAddress, LookupAllOptions, LookupOptions } from "node:dns";
import { isLoopback, isPrivateAddress } from "./address.js";
import { AddressError } from "./errors.js";
import type { Fetch } from "./exchange.js";
import { isNode, nodeModule } from "./platform.js";

/** Looks up the addresses of a name. */
export type Lookup = (host: string, options: LookupAllOptions) => Promise<LookupAddress[]>;

const systemLookup: Lookup = async (host, options) =>
  (await nodeModule<typeof import("node:dns/promises")>("dns/promises", "a lookup")).lookup(host, options);

/**
 * Checks the addresses of a name: localhost must be this machine, and every other name must have only addresses of the public internet. It
 * throws an AddressError.
 */
export function checkAddresses(host: string, found: readonly LookupAddress[]): void {
  for (const { address, family } of found) {
    const bracketed = family === 6 ? ipv6(address) : address;
    if (isLoopback(host) ? isLoopback(bracketed) : bracketed !== "" && !isPrivateAddress(bracketed)) continue;
    throw new AddressError(`${host} has the address ${address}, which is not ${isLoopback(host) ? "this machine" : "on the public internet"}`);
  }
}

/** ipv6 returns an address as in URLs; an empty string if it has a zone. */
function ipv6(address: string): string {
  return address.includes("%") ? "" : new URL(`http://[${address}]`).hostname;
}

type Callback = (error: Error | null, address?: string | LookupAddress[], family?: number) => void;
/** The class of connections that fetch of Node.js uses. */
type AgentClass = new (options: { connect: { lookup: (host: string, options: LookupOptions, done: Callback) => void } }) => object;

/**
 * Returns a fetch that connects only to addresses which checkAddresses accepts. In Node.js, it checks the addresses of each connection,
 * so that a name cannot change its address after the check. Runtimes without the connections of Node.js look the name up before. Browsers
 * do not show addresses, so there it is the global fetch.
 */
export function guardedFetch(lookup: Lookup = systemLookup): Fetch {
  if (!isNode) return (input, init) => globalThis.fetch(input, init);
  let connections: object | undefined;
  const checked: Lookup = async (host, options) => {
    const found = await lookup(host, options);
    checkAddresses(host, found);
    return found;
  };
  return async (input, init) => {
    connections ??= connectionsOf(checked);
    if (connections) return globalThis.fetch(input, { ...init, dispatcher: connections } as RequestInit);
    const { hostname } = new URL(input instanceof Request ? input.url : input);
    if (!/^\[|^[0-9.]+$/.test(hostname)) await checked(hostname, { all: true });
    return globalThis.fetch(input, init);
  };
}

/** connectionsOf returns connections that use a lookup; undefined if the runtime has others, such as those of a proxy. */
function connectionsOf(lookup: Lookup): object | undefined {
  new Request("http://127.0.0.1"); // loads what fetch uses
  const present = (globalThis as Record<symbol, object | undefined>)[Symbol.for("undici.globalDispatcher.1")];
  if (present?.constructor.name !== "Agent") return undefined;
  return new (present.constructor as AgentClass)({
    connect: {
      lookup: (host, options, done) => {
        lookup(host, { ...options, all: true }).then(
          (found) => (options.all ? done(null, found) : done(null, found[0]?.address, found[0]?.family)),
          (error: Error) => done(error),
        );
      },
    },
  });
}
