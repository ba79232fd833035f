import { type Accounts, endOf, type Period, PERIODS, windowOf } from "./accounts.js";
import { BudgetError, OptionsError } from "./errors.js";
import { type Amount, amountOfNano, MAX_NANO, nanoOf, parseAmount, showAmount } from "./money.js";

/** The maximum amount for one hour, day or month of the UTC calendar. */
export interface BudgetLimit {
  readonly amount: Amount;
  readonly period: Period;
}

/** Parses a limit such as "5 EUR/day". It throws an OptionsError for any other string. */
export function parseLimit(text: string): BudgetLimit {
  const [amount = "", period = "", ...more] = text.split("/");
  const known = PERIODS.find((p) => p === period.trim());
  if (!known || more.length > 0) throw new OptionsError('want a budget such as "5 EUR/day", for an hour, a day or a month');
  return { amount: parseAmount(amount), period: known };
}

/** Stores the amounts spent. change applies f to them under a lock, and stores the result before it returns. */
export interface AccountStore {
  change<T>(f: (accounts: Accounts) => T): Promise<T>;
}

/** An amount that is reserved for one call. */
export interface Reservation {
  /** Undefined if nothing is reserved because the price is unknown. */
  readonly amount: Amount | undefined;
  /**
   * Replaces the reservation with the charge; undefined means that nothing was charged. If the charge is unknown, do not call settle: the
   * amount then counts until its periods end. Call settle at most once.
   */
  settle(charged: Amount | undefined): Promise<void>;
}

/** Limits the spending of an agent. It is safe for calls that run at the same time. */
export class Budget {
  constructor(
    readonly limits: readonly BudgetLimit[],
    private readonly store: AccountStore,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Reserves a price within all limits of its currency. undefined means that the price is unknown: then nothing is reserved, but no limit
   * may be used up. If it throws a BudgetError, nothing is reserved.
   */
  async reserve(price: Amount | undefined): Promise<Reservation> {
    const limits = this.limits.filter((limit) => !price || limit.amount.currency === price.currency);
    if (limits.length === 0) {
      throw new BudgetError(
        price ? `the call costs up to ${showAmount(price)}, and there is no budget in ${price.currency}` : "there is no budget",
      );
    }
    const nano = price ? (nanoOf(price.amount) ?? MAX_NANO) : 0n;
    const from = await this.store.change((accounts) => {
      const now = this.now();
      for (const limit of limits) {
        const { currency } = limit.amount;
        const window = windowOf(accounts, currency, limit.period, now);
        const most = nanoOf(limit.amount.amount) ?? 0n;
        if (window.nano + nano > most || (!price && window.nano >= most)) {
          throw new BudgetError(
            `${price ? `the call costs up to ${showAmount(price)}` : "the price of the call is not known"}, and ` +
              `${showAmount(amountOfNano(window.nano, currency))} of the budget of ${showAmount(limit.amount)}/${limit.period} is ` +
              `spent or reserved; the period ends at ${new Date(endOf(limit.period, window.from)).toISOString()}`,
          );
        }
      }
      return price ? add(accounts, price, now) : undefined;
    });
    return this.reservation(price, from);
  }

  /** Returns an empty reservation, for a call that should be free. If the service charges it nevertheless, settle counts the charge. */
  nothing(): Reservation {
    return this.reservation(undefined, undefined);
  }

  private reservation(amount: Amount | undefined, from: Map<Period, number> | undefined): Reservation {
    const settle = async (charged: Amount | undefined): Promise<void> => {
      if (!charged && !from) return;
      if (charged && amount && charged.currency === amount.currency && nanoOf(charged.amount) === nanoOf(amount.amount)) return;
      await this.store.change((accounts) => this.replace(accounts, amount, from, charged));
    };
    return { amount, settle };
  }

  /** replace counts a charge in place of a reservation, except in periods that began after the reservation. */
  private replace(
    accounts: Accounts,
    amount: Amount | undefined,
    from: Map<Period, number> | undefined,
    charged: Amount | undefined,
  ): void {
    const now = this.now();
    for (const [period, begin] of from ?? []) {
      if (!amount) break;
      const window = windowOf(accounts, amount.currency, period, now);
      if (charged && charged.currency !== amount.currency) continue; // both count: a service could otherwise evade the limits
      const rest = window.nano - (nanoOf(amount.amount) ?? 0n);
      if (window.from === begin) window.nano = rest < 0n ? 0n : rest;
    }
    for (const period of charged ? PERIODS : []) {
      const window = windowOf(accounts, charged?.currency ?? "", period, now);
      const begin = from?.get(period);
      if (begin === undefined || window.from <= begin) window.nano = plus(window.nano, nanoOf(charged?.amount ?? "") ?? MAX_NANO);
    }
  }
}

function add(accounts: Accounts, amount: Amount, now: number): Map<Period, number> {
  return new Map(
    PERIODS.map((period) => {
      const window = windowOf(accounts, amount.currency, period, now);
      window.nano = plus(window.nano, nanoOf(amount.amount) ?? MAX_NANO);
      return [period, window.from];
    }),
  );
}

function plus(a: bigint, b: bigint): bigint {
  return a + b > MAX_NANO ? MAX_NANO : a + b;
}

/** Returns a budget in the memory of this process. */
export function memoryBudget(...limits: string[]): Budget {
  const accounts: Accounts = new Map();
  return new Budget(limits.map(parseLimit), { change: async (f) => f(accounts) });
}
