import { isObject } from "./json.js";
import { type Amount, amountOf } from "./money.js";
import { identifier } from "./text.js";

/** The price of one call, as the service states it. A repetition states the charge of the first call again: count each id once. */
export interface Charge extends Amount {
  /** Id of the execution, chosen by the service. */
  readonly id: string;
  /** captured: charged. released: not charged after all. pending: not settled yet. */
  readonly state: "captured" | "released" | "pending";
}

/** Parses a UIM-Charge field: 0.05 EUR; id=…; state=captured. It returns undefined if the string is not one. */
export function parseCharge(text: string | null): Charge | undefined {
  if (!text || text.length > 8192) return undefined;
  const [price = "", ...rest] = text.split(";");
  const [number = "", currency = "", ...more] = price.trim().split(/ +/);
  const parameters = new Map(
    rest.map((part) => {
      const [name = "", ...value] = part.trim().split("=");
      return [name, value.join("=")] as const;
    }),
  );
  return more.length > 0 ? undefined : charge(number, currency, parameters.get("id"), parameters.get("state"));
}

/** Reads the charge in meta.charge or details.charge of a body. It returns undefined if the value is not one. */
export function chargeOf(value: unknown): Charge | undefined {
  if (!isObject(value) || typeof value.amount !== "string" || typeof value.currency !== "string") return undefined;
  return charge(value.amount, value.currency, value.id, value.state);
}

function charge(number: string, currency: string, id: unknown, state: unknown): Charge | undefined {
  const amount = amountOf(number, currency);
  if (!amount || !identifier(id) || (state !== "captured" && state !== "released" && state !== "pending")) return undefined;
  return { ...amount, id: identifier(id), state };
}
