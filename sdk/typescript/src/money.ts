import { OptionsError } from "./errors.js";

/** Billionths in one unit of a currency. */
export const NANO = 1_000_000_000n;
/** The largest sum that a budget file can contain. */
export const MAX_NANO = 2n ** 63n - 1n;

const NUMBER = /^([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,2}))?$/;

/** An amount: a decimal number, such as 0.05, and a currency of three capital letters (ISO 4217). */
export interface Amount {
  readonly amount: string;
  readonly currency: string;
}

/** Returns an amount in billionths of a unit. It returns undefined if the number is negative, finer than 10⁻⁹, or above a million. */
export function nanoOf(text: string): bigint | undefined {
  const [, whole, fraction = "", exponent = "0"] = (text.length <= 40 && NUMBER.exec(text)) || [];
  if (whole === undefined) return undefined;
  const shift = 9 - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  let nano = digits;
  if (shift >= 0) nano = digits * 10n ** BigInt(shift);
  else if (digits % 10n ** BigInt(-shift) === 0n) nano = digits / 10n ** BigInt(-shift);
  else return undefined;
  return nano > 1_000_000n * NANO ? undefined : nano;
}

/** Parses a number and a currency. It returns undefined if they are not an amount. */
export function amountOf(number: string, currency: string): Amount | undefined {
  const nano = nanoOf(number);
  return nano === undefined || !/^[A-Z]{3}$/.test(currency) ? undefined : amountOfNano(nano, currency);
}

/** Returns the amount of a number of billionths, with at least two decimal places. */
export function amountOfNano(nano: bigint, currency: string): Amount {
  const fraction = String(nano % NANO).padStart(9, "0");
  return { amount: `${nano / NANO}.${fraction.slice(0, 2)}${fraction.slice(2).replace(/0+$/, "")}`, currency };
}

/** Parses an amount such as "0.05 EUR". It throws an OptionsError for any other string. */
export function parseAmount(text: string): Amount {
  const [number = "", currency = "", ...more] = text.trim().split(/ +/);
  const amount = more.length === 0 ? amountOf(number, currency) : undefined;
  if (!amount) throw new OptionsError("want an amount such as 0.05 EUR");
  return amount;
}

/** Returns an amount as text, such as 0.05 EUR. */
export function showAmount(amount: Amount): string {
  return `${amount.amount} ${amount.currency}`;
}
