import type { Charge } from "./charge.js";
import type { Budget, Reservation } from "./budget.js";
import { memoryBudget } from "./budget.js";
import { ApprovalError, BudgetError, LostError, NetworkError, RefusalError, ResponseError } from "./errors.js";
import { type Amount, nanoOf, parseAmount, showAmount } from "./money.js";
import type { Approve, PlannedCall } from "./options.js";
import type { Price } from "./price.js";

/** The limits of one call. */
export interface Bounds {
  budget?: Budget | undefined;
  /** Maximum price of this call. */
  most?: string | undefined;
  approve?: Approve | undefined;
}

/** Decides before each call whether the budget covers its price, and counts its actual cost afterwards. */
export class Spending {
  /** The highest charge of a service for an intent under the present agreement. */
  #charged = new Map<string, Amount>();
  #unproved: Promise<unknown> = Promise.resolve();

  /** Deletes the charges of an earlier agreement. */
  reset(): void {
    this.#charged.clear();
  }

  /** Returns the price of a call: that of the policy, or the highest charge so far if that is more. */
  price(stated: Price, intent: string): Price {
    const charged = this.#charged.get(intent);
    if (!charged || stated.kind === "unknown" || stated.kind === "forbidden") return stated;
    if (stated.kind === "paid" && stated.most.currency !== charged.currency) {
      throw new BudgetError(`the service has charged ${showAmount(charged)} for ${intent}, in a currency that its policy does not state`);
    }
    return { kind: "paid", most: charged };
  }

  /** Asks for approval, and reserves the price. If it throws a BudgetError or an ApprovalError, the caller must not send the call. */
  async reserve(call: PlannedCall, stated: Price, bounds: Bounds): Promise<Reservation> {
    const price = this.price(stated, call.intent);
    const budget = bounds.budget ?? memoryBudget();
    if (price.kind === "free") return budget.nothing();
    const most = price.kind === "paid" ? price.most : undefined;
    const cost = most
      ? `costs up to ${showAmount(most)}`
      : price.kind === "forbidden"
        ? "has no permission in the policy that states its price"
        : "has a price that the client cannot read from the policy";
    if (bounds.most !== undefined && exceeds(most, parseAmount(bounds.most))) {
      throw new BudgetError(`a call of ${call.intent} ${cost}, and this call may cost at most ${bounds.most}`);
    }
    if (!bounds.budget && !bounds.approve && bounds.most === undefined) {
      throw new BudgetError(`a call of ${call.intent} ${cost}, and there is no budget: pass budget or approve to the client`);
    }
    if (bounds.approve && !(await bounds.approve(call, price)))
      throw new ApprovalError(`the call of ${call.intent}, which ${cost}, was declined`);
    return bounds.budget ? bounds.budget.reserve(most) : budget.nothing();
  }

  /** Counts the actual cost of a call. error is the error of a failed call. */
  async settle(reservation: Reservation, intent: string, stated: Price, charge: Charge | undefined, error?: unknown): Promise<void> {
    const cost = charge && charge.state !== "released" ? { amount: charge.amount, currency: charge.currency } : undefined;
    if (cost) this.note(intent, stated, cost);
    if (cost || charge) return reservation.settle(cost);
    if (error === undefined ? !reservation.amount : isFree(error)) return reservation.settle(undefined);
  }

  private note(intent: string, stated: Price, cost: Amount): void {
    const nano = nanoOf(cost.amount) ?? 0n;
    const expected = stated.kind === "paid" && stated.most.currency === cost.currency ? (nanoOf(stated.most.amount) ?? 0n) : 0n;
    const before = nanoOf(this.#charged.get(intent)?.amount ?? "0") ?? 0n;
    if (nano > expected && nano > before) this.#charged.set(intent, cost);
  }

  /** Runs calls with an unknown price one at a time, so that only one of them can exceed the budget. */
  async alone<T>(stated: Price, run: () => Promise<T>): Promise<T> {
    if (stated.kind === "free" || stated.kind === "paid") return run();
    const before = this.#unproved;
    const mine = before.then(run, run);
    this.#unproved = mine.catch(() => {});
    return mine;
  }
}

function exceeds(price: Amount | undefined, most: Amount): boolean {
  return !price || price.currency !== most.currency || (nanoOf(price.amount) ?? 0n) > (nanoOf(most.amount) ?? 0n);
}

/** isFree reports whether a call that failed is known to have cost nothing. */
function isFree(error: unknown): boolean {
  if (error instanceof LostError) return false;
  if (error instanceof NetworkError || error instanceof ResponseError) return !error.sent;
  if (!(error instanceof RefusalError)) return !(error as { sent?: boolean }).sent;
  if (error.outcome === "not_sent" || error.outcome === "failed") return true;
  return (
    error.outcome === undefined && error.status < 500 && error.status >= 400 && !error.is("OUTCOME_UNKNOWN", "IDEMPOTENCY_IN_PROGRESS")
  );
}
