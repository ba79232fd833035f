"""Decides before each call whether the budget covers its price, and counts its actual cost afterwards."""

from __future__ import annotations

from functools import partial
from typing import Any

from ._answers import Charge
from ._budget import Budget, Reservation
from ._calls import CallsFile, Unfinished
from ._errors import ApprovalError, BudgetError, LostError, NetworkError, RefusalError, RenewalError
from ._money import Amount
from ._policy import Price
from ._receipts import Receipt
from ._settings import Approve, Ask, Call, Flow, Work


class Spending:
    """The amounts that a client reserves and settles."""

    def __init__(self, file: CallsFile | None) -> None:
        self.file = file
        self._charged: dict[str, Amount] = {}  # the most that the service has charged for an intent, beyond its policy

    def reset(self) -> None:
        """Deletes the charges of an earlier agreement."""
        self._charged.clear()

    def price(self, stated: Price, intent: str) -> Price:
        """Returns the price of a call: that of the policy, or the highest charge so far if that is more."""
        charged = self._charged.get(intent)
        if charged is None or stated.kind in ("unknown", "forbidden"):
            return stated
        if stated.most and stated.most.currency != charged.currency:
            raise BudgetError(f"the service has charged {charged} for {intent}, in a currency that its policy does not state")
        return Price("paid", charged)

    def reserve(
        self, call: Call, price: Price, budget: Budget | Amount | None, approve: Approve | None, earlier: Reservation | None
    ) -> Flow:
        """Asks for approval, and reserves the price. If it raises a BudgetError or an ApprovalError, the caller must not send the call.
        earlier is the reservation of a process that was killed before it knew the outcome of the same call: it counts in place of a new
        one."""
        if price.kind == "free":
            return Reservation(None)
        cost = f"costs up to {price.most}" if price.most else "has a price that the client cannot read from the policy"
        if isinstance(budget, Amount) and (price.most is None or price.most.currency != budget.currency or price.most.nano > budget.nano):
            raise BudgetError(f"a call of {call.intent} {cost}, and this call may cost at most {budget}")
        if budget is None and approve is None:
            raise BudgetError(f"a call of {call.intent} {cost}, and there is no budget: pass budget or approve")
        if approve is not None and (yield Ask(approve, (call, price))) is not True:
            raise ApprovalError(f"the call of {call.intent}, which {cost}, was declined")
        if earlier is not None:
            return earlier
        if isinstance(budget, Budget):
            return (yield Work(partial(budget.reserve, price.most)))
        return Reservation(None)

    def begin(self, call: Unfinished) -> Flow:
        """Records a call that may cost something, before it is first sent."""
        if self.file is not None:
            yield Work(partial(self.file.begin, call))

    def settle(
        self,
        budget: Budget | Amount | None,
        reservation: Reservation,
        intent: str,
        price: Price,
        key: str,
        charge: Charge | None,
        receipt: Receipt | None,
        error: BaseException | None,
    ) -> Flow:
        """Counts the actual cost of a call. While the cost is unknown, the reservation remains."""
        cost: Amount | None = None
        known = charge is not None or (is_free(error) if error is not None else reservation.amount is None)
        if charge is not None:
            amount, state = (receipt.amount, receipt.state) if receipt else (charge.amount, charge.state)
            cost = amount if state != "released" and amount.nano else None
            if cost:
                self._note(intent, price, cost)
        if known and isinstance(budget, Budget):
            yield Work(partial(budget.settle, reservation, cost))
        if self.file is not None and price.kind != "free" and not is_unknown(error):
            yield Work(partial(self.file.end, key))

    def replace(self, key: str, call: Unfinished) -> Flow:
        """Records that a call which was not done is sent again under another key."""
        if self.file is not None:
            yield Work(partial(self.file.begin, call))
            yield Work(partial(self.file.end, key))

    def _note(self, intent: str, price: Price, cost: Amount) -> None:
        expected = price.most.nano if price.most and price.most.currency == cost.currency else 0
        before = self._charged.get(intent)
        if cost.nano > expected and (before is None or cost.nano > before.nano):
            self._charged[intent] = cost


def is_unknown(error: BaseException | None) -> bool:
    """Reports whether a failed call may have taken effect, or may still take effect."""
    if error is None or isinstance(error, RenewalError):
        return False
    if isinstance(error, NetworkError):
        return error.sent
    if isinstance(error, RefusalError):
        r = error.refusal
        ended = r.outcome in ("not_sent", "failed", "done") or (r.outcome == "" and r.status < 500)
        return not ended or r.reason in ("OUTCOME_UNKNOWN", "IDEMPOTENCY_IN_PROGRESS")
    return isinstance(error, LostError) or not isinstance(error, Exception)


def is_free(error: BaseException) -> bool:
    """Reports whether a call that failed is known to have cost nothing."""
    return not is_unknown(error) and not (isinstance(error, RefusalError) and error.refusal.outcome == "done")


def unfinished_call(file: CallsFile | None, key: str, request: str) -> Any:
    """Returns a function that finds the record of an earlier process for the same call."""

    def find() -> Unfinished | None:
        found = [c for c in file.all() if c.idempotency_key == key and c.request == request] if file and key else []
        return found[0] if found else None

    return find
