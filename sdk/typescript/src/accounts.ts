import { FileError } from "./errors.js";
import { isObject, type Json, parseObject } from "./json.js";
import { MAX_NANO } from "./money.js";

/** A period of the UTC calendar. */
export type Period = "hour" | "day" | "month";

/** All periods. */
export const PERIODS: readonly Period[] = ["hour", "day", "month"];

/** The amount spent in the period that began at from (milliseconds since 1970), in billionths of the unit of the currency. */
export interface Window {
  from: number;
  nano: bigint;
}

/** The amounts spent in the current period, by currency and kind of period. */
export type Accounts = Map<string, Map<Period, Window>>;

/** Returns the beginning of the period that contains a time. */
export function startOf(period: Period, at: number): number {
  const d = new Date(at);
  switch (period) {
    case "hour":
      return Date.UTC(d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate(), d.getUTCHours());
    case "day":
      return Date.UTC(d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate());
    case "month":
      return Date.UTC(d.getUTCFullYear(), d.getUTCMonth());
  }
}

/** Returns the end of the period that began at a time. */
export function endOf(period: Period, from: number): number {
  const d = new Date(from);
  switch (period) {
    case "hour":
      return from + 3_600_000;
    case "day":
      return from + 86_400_000;
    case "month":
      return Date.UTC(d.getUTCFullYear(), d.getUTCMonth() + 1);
  }
}

/**
 * Returns the current period of a kind, and begins it if it is new. If the clock was set back, the later period remains the current one.
 */
export function windowOf(accounts: Accounts, currency: string, period: Period, now: number): Window {
  const of = accounts.get(currency) ?? new Map<Period, Window>();
  accounts.set(currency, of);
  const start = startOf(period, now);
  const had = of.get(period);
  if (had && had.from >= start) return had;
  const window = { from: start, nano: 0n };
  of.set(period, window);
  return window;
}

/** Writes accounts in the form of spent.json, which `uimgate mcp` writes too. It leaves out currencies whose periods have all ended. */
export function formatAccounts(accounts: Accounts, now: number): string {
  const byName = <T>(a: [string, T], b: [string, T]): number => (a[0] < b[0] ? -1 : 1);
  const live = [...accounts].filter(([, of]) => [...of].some(([period, w]) => now < endOf(period, w.from))).sort(byName);
  const spent = live.map(([currency, of]) => {
    const windows = [...of].sort(byName).map(([period, w]) => {
      const from = new Date(w.from).toISOString().replace(".000Z", "Z");
      return `      ${JSON.stringify(period)}: {\n        "from": "${from}",\n        "nano": ${w.nano}\n      }`;
    });
    return `    ${JSON.stringify(currency)}: {\n${windows.join(",\n")}\n    }`;
  });
  return `{\n  "version": 1,\n  "spent": {${spent.length > 0 ? `\n${spent.join(",\n")}\n  ` : ""}}\n}\n`;
}

/** Parses spent.json. It throws a FileError if the text is invalid, because the amounts spent are then unknown. */
export function parseAccounts(text: string, path: string): Accounts {
  const damaged = new FileError(`${path} is damaged, so the amounts spent are unknown: repair the file, or remove it to start over`);
  let document: Json;
  try {
    document = parseObject(text, { number: (digits) => digits }); // sums may be too large for a JavaScript number
  } catch {
    throw damaged;
  }
  if (!isObject(document) || document.version !== "1" || !isObject(document.spent)) throw damaged;
  return new Map(
    Object.entries(document.spent).map(([currency, of]) => {
      if (!isObject(of)) throw damaged;
      return [
        currency,
        new Map(
          Object.entries(of).map(([period, window]) => {
            const from = isObject(window) && typeof window.from === "string" ? Date.parse(window.from) : Number.NaN;
            const nano =
              isObject(window) && typeof window.nano === "string" && /^[0-9]{1,19}$/.test(window.nano) ? BigInt(window.nano) : -1n;
            if (!PERIODS.includes(period as Period) || Number.isNaN(from) || nano < 0n || nano > MAX_NANO) throw damaged;
            return [period as Period, { from, nano }];
          }),
        ),
      ];
    }),
  );
}
