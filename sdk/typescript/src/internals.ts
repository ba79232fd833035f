import type { Agreements, Connection } from "./agreement.js";
import type { UimClient } from "./client.js";
import type { Price } from "./price.js";
import type { Receipts } from "./record.js";
import type { Spending } from "./spending.js";

/** The parts of a client that other modules of this package use. */
export interface Internals {
  readonly c: Connection;
  readonly agreements: Agreements;
  readonly spending: Spending;
  readonly receipts: Receipts;
  /** Returns the price of an intent under the agreed policy. */
  readonly stated: (intent: string) => Promise<Price>;
}

const all = new WeakMap<UimClient, Internals>();

/** Keeps the parts of a new client. */
export function keepInternals(client: UimClient, internals: Internals): void {
  all.set(client, internals);
}

/** Returns the parts of a client. */
export function internalsOf(client: UimClient): Internals {
  const found = all.get(client);
  if (!found) throw new TypeError("want a UimClient of this copy of the package uimgate");
  return found;
}
