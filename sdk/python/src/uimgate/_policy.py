"""Policies: their digests, and the prices of calls."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from ._keys import digest_of
from ._json import Number, decode_object
from ._money import Amount, read_amount
from ._terms import list_of

_UNPAID = {"signPayload", "attribute", "logUsage", "inform", "acceptTracking"}  # duties that cost no money
_PERMISSION = {
    "uid",
    "@id",
    "@type",
    "type",
    "target",
    "action",
    "duty",
    "constraint",
    "assignee",
    "assigner",
    "rdfs:label",
    "rdfs:comment",
    "comment",
}
_DUTY = {"uid", "@id", "@type", "type", "action", "amount", "unit", "target", "constraint", "assignee", "assigner", "comment"}


@dataclass(frozen=True)
class Price:
    """The price of a call under a policy. free: the call costs nothing. paid: it costs at most the amount in most. unknown: the policy
    uses terms that this package does not read as a price. forbidden: no permission has the intent as its target."""

    kind: Literal["free", "paid", "unknown", "forbidden"]
    most: Amount | None = None

    def __str__(self) -> str:
        return f"at most {self.most}" if self.most else self.kind


@dataclass(frozen=True)
class Policy:
    """The terms that a service offers: an ODRL document. digest names it in agree()."""

    uid: str
    digest: str
    text: bytes = field(repr=False)
    document: dict[str, Any] = field(repr=False)
    url: str = ""
    sentences: str = field(default="", repr=False)

    @classmethod
    def read(cls, text: bytes, url: str = "", sentences: str = "") -> Policy:
        """Reads a policy. If the document has no canonical form, no agent can agree to it, and read raises a JsonError."""
        document = decode_object(text, exact=True)
        return cls(_uid(document), "sha-256:" + digest_of(document), text, document, url, sentences)

    def explain(self) -> str:
        """Returns the meaning of the policy in the words of the service, for people to read. Only the document itself is binding."""
        if self.sentences:
            return self.sentences
        return f"The service does not explain its policy {self.uid}. It is this document:\n{self.text.decode('utf-8')}"

    def price_of(self, intent: str) -> Price:
        """Returns the maximum price of a call. It assumes that the conditions of permissions hold, so the price is never too low."""
        rest = self.document
        if "@graph" in rest or "inheritFrom" in rest or list_of(rest.get("obligation")):
            return Price("unknown")
        most: Amount | None = None
        permitted = False
        for permission in list_of(rest.get("permission")):
            if not isinstance(permission, dict) or permission.get("target") is None:
                return Price("unknown")
            if not any(_means(target, intent) for target in list_of(permission["target"])):
                continue
            permitted = True
            price = _price(permission)
            if price == "unknown" or (isinstance(price, Amount) and most and price.currency != most.currency):
                return Price("unknown")
            if isinstance(price, Amount) and (most is None or price.nano > most.nano):
                most = price
        if not permitted:
            return Price("forbidden")
        return Price("paid", most) if most else Price("free")


def _price(permission: dict[str, Any]) -> Amount | Literal["unknown"] | None:
    if permission.keys() - _PERMISSION:
        return "unknown"
    found: Amount | None = None
    for duty in list_of(permission.get("duty")):
        if not isinstance(duty, dict) or duty.keys() - _DUTY:
            return "unknown"
        action = _last(_name(duty.get("action")))
        if action in _UNPAID:
            continue
        amount = read_amount(str(duty.get("amount")), _last(_name(duty.get("unit"))))
        if action != "pay" or "constraint" in duty or found or amount is None:
            return "unknown"
        found = amount if amount.nano else None
    return found


def _uid(document: dict[str, Any]) -> str:
    for name in ("uid", "@id", "id", "odrl:uid"):
        value = document.get(name)
        if isinstance(value, dict):
            value = value.get("@id")
        if isinstance(value, str) and not isinstance(value, Number):
            return value
    return ""


def _means(target: object, intent: str) -> bool:
    name = _name(target)
    return name == intent or name.endswith(f"/api/intents/{intent}") or name.endswith("/api/intents")


def _name(value: object) -> str:
    for _ in range(3):
        if isinstance(value, dict):
            value = next((value[n] for n in ("@id", "uid", "@value", "rdf:value") if n in value), None)
    return value if isinstance(value, str) else ""


def _last(name: str) -> str:
    return re.split(r"[/#:]", name)[-1]
