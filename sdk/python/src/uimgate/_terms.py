"""Compares the terms of two policies for an intent."""

from __future__ import annotations

import re
from typing import Any

from ._errors import JsonError
from ._json import canonical, decode_object

_GOVERNING = {"context", "uid", "id", "type", "conflict", "inheritFrom", "target", "action", "assigner", "assignee"}  # apply to all rules
_RULES = {"permission", "prohibition", "obligation"}
_INTENT = re.compile(r"[^:/\t\n\f\r ]+:[^:/\t\n\f\r ]+:v[0-9]+")


def same_terms(before: bytes, after: bytes, intent: str) -> bool:
    """Reports whether two policies have the same terms for an intent, so that an agreement to one of them holds for the intent under the
    other. The terms are the rules that can apply to the intent, in any order, and the members that apply to all rules. They are compared
    as text in RFC 8785 form: different terms may mean the same. A document that cannot be read has no terms."""
    try:
        return _terms(decode_object(before, exact=True), intent) == _terms(decode_object(after, exact=True), intent)
    except JsonError:
        return False


def _terms(policy: dict[str, Any], intent: str) -> list[tuple[str, bytes]]:
    found = []
    for name, value in policy.items():
        local = local_name(name)
        if local in _GOVERNING:
            found.append((local, canonical(value)))
        if local in _RULES:
            own = [_rule(rule, intent) if isinstance(rule, dict) else rule for rule in list_of(value)]
            found += [(local, canonical(rule)) for rule in own if rule is not None]
    return sorted(found)


def _rule(rule: dict[str, Any], intent: str) -> dict[str, Any] | None:
    """Returns a rule without its uid and, if its targets are intents, without them; None if it applies only to other intents."""
    own = {name: value for name, value in rule.items() if local_name(name) not in ("target", "uid", "id")}
    targets = [target for name, value in rule.items() if local_name(name) == "target" for target in list_of(value)]
    names = [_name(target) for target in targets]
    if not names or not all(_INTENT.fullmatch(name) for name in names):
        return {**own, "target": targets}  # everything, or a collection of assets
    return own if intent in names else None


def _name(value: Any) -> str:
    """Returns what a target names: a string, or the uid of an object without other members."""
    if isinstance(value, dict) and len(value) == 1:
        [(name, inner)] = value.items()
        value = inner if local_name(name) in ("uid", "id") else None
    return str(value) if type(value) is str else ""


def local_name(name: str) -> str:
    """Returns the name of a member without the prefix of a vocabulary and the @ of JSON-LD."""
    return re.split(r"[/#:]", name)[-1].removeprefix("@")


def list_of(value: Any) -> list[Any]:
    """Returns a value as a list: a list unchanged, None as an empty list, and any other value as a list with one element."""
    return [] if value is None else value if isinstance(value, list) else [value]
