"""The price that a policy states at the rule of a charge."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ._json import Number
from ._money import Amount, read_amount
from ._terms import list_of, local_name

_MAX_TOTALS = 1024  # sums that are compared for one rule
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_CURRENCIES = {  # names of currencies at the end of an address
    "Euro": "EUR",
    "United_States_dollar": "USD",
    "Pound_sterling": "GBP",
    "Japanese_yen": "JPY",
    "Swiss_franc": "CHF",
}


def states_price(policy: dict[str, Any], rule: str, amount: Amount) -> bool | None:
    """Reports whether a policy states an amount as the price of a rule: the sum of the payments in the duties of the rule and in the
    obligations of the policy. Payments under conditions may be owed or not. policy is a result of decode_object with exact numbers. rule is
    the uid of a permission, or a JSON pointer (RFC 6901) to it. The result is None if the policy does not have the rule."""
    found = _rule_at(policy, rule) if rule.startswith("/") else _rule_named(policy, rule, True)
    if found is None:
        return None
    totals = {0}
    duties = [(duty, True) for duty in list_of(_member(found, "duty"))]
    for o in list_of(_member(policy, "obligation")):
        if isinstance(o, dict):
            duties.append((o, _member(o, "target", "assignee") is None))
    for duty, binds in duties:
        payment = _payment(duty)
        if payment is None or payment.amount.currency != amount.currency:
            continue
        after = {total + payment.amount.nano for total in totals}
        if not payment.always or not binds:
            after |= totals
        totals = set(sorted(total for total in after if total <= amount.nano)[:_MAX_TOTALS])
    return amount.nano in totals


def _rule_at(policy: dict[str, Any], pointer: str) -> dict[str, Any] | None:
    """Returns the object at a JSON pointer (RFC 6901 4)."""
    value: Any = policy
    for part in pointer[1:].split("/"):
        token = re.sub("~[01]", lambda escape: "/" if escape[0] == "~1" else "~", part)
        if isinstance(value, list):
            value = value[int(token)] if _INDEX.fullmatch(token) and int(token) < len(value) else None
        else:
            value = value.get(token) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def _rule_named(value: Any, uid: str, top: bool) -> dict[str, Any] | None:
    """Returns an object with a uid inside a value, which is not the value itself if top is set."""
    if isinstance(value, dict):
        if not top and len(value) > 1 and uid in (_text(value.get("uid")), _text(value.get("@id"))):
            return value
        value = [value[name] for name in sorted(value)]
    for item in value if isinstance(value, list) else []:
        found = _rule_named(item, uid, False)
        if found is not None:
            return found
    return None


@dataclass(frozen=True)
class _Payment:
    """The payment that a duty requires. always: no condition decides whether it is owed."""

    amount: Amount
    always: bool


def _payment(duty: Any) -> _Payment | None:
    """Returns the payment that a duty requires; None if it requires none."""
    if not isinstance(duty, dict):
        return None
    action = next((a for a in list_of(_member(duty, "action")) if _action_name(a) in ("pay", "compensate")), None)
    if action is None:
        return None
    always, paid, unit = True, _member(duty, "amount"), _member(duty, "unit", "currency")
    if isinstance(paid, dict):
        if unit is None:
            unit = _member(paid, "unit", "currency")
        paid = _value(paid)
    constraints = list(list_of(_member(duty, "constraint")))
    if isinstance(action, dict):
        constraints += list_of(_member(action, "refinement"))
    for constraint in constraints:
        o = constraint if isinstance(constraint, dict) else {}
        left = local_name(_text(_value(_member(o, "leftOperand"))) or "")
        if left == "payAmount":
            paid = _value(_member(o, "rightOperand"))
            own = _member(o, "unit")
            unit = unit if own is None else own
        elif left != "unitOfCount":
            always = False
    code = local_name(_text(_value(unit)) or "")
    amount = read_amount(paid, _CURRENCIES.get(code, code))  # a Number is a str, too
    return None if amount is None else _Payment(amount, always)


def _action_name(action: Any) -> str:
    if isinstance(action, dict):
        value = _member(action, "value")
        action = _value(action if value is None else value)
    return local_name(_text(action) or "")


def _member(o: dict[str, Any], *names: str) -> Any:
    """Returns the member with one of some names, which may have the prefix of a vocabulary; None if it is absent or null."""
    name = next((name for name in sorted(o) if local_name(name) in names), None)
    return None if name is None else o[name]


def _value(value: Any) -> Any:
    """Returns the value or the address in an object of JSON-LD, and any other value unchanged."""
    if not isinstance(value, dict):
        return value
    return next((value[name] for name in ("@value", "@id", "value") if value.get(name) is not None), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and not isinstance(value, Number) else None
