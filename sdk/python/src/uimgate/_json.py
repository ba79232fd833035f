"""JSON as this protocol needs it: every member once, exact numbers, and the canonical form of RFC 8785."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

from ._errors import JsonError

_MAX_NUMBER = 1000  # characters of one number
_MAX_DEPTH = 200
_UNUSABLE = re.compile("[\ud800-\udfff\x00]")


class Number(str):
    """A number as it was written, so that the canonical form can be compared with it."""


def decode(data: bytes | str, *, exact: bool = False) -> Any:
    """Parses JSON (RFC 8259). A repeated member, U+0000 and half of a surrogate pair are errors. With exact, numbers are Number."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        hooks: dict[str, Any] = {"parse_int": Number, "parse_float": Number} if exact else {"parse_int": _integer, "parse_float": _fraction}
        value = json.loads(text, object_pairs_hook=_members, parse_constant=_constant, **hooks)
        _check(value, 0)
    except JsonError:
        raise
    except (ValueError, RecursionError):
        raise JsonError("it is not a JSON text in UTF-8") from None
    return value


def decode_object(data: bytes | str, *, exact: bool = False) -> dict[str, Any]:
    """Parses a JSON object."""
    value = decode(data, exact=exact)
    if not isinstance(value, dict):
        raise JsonError("it is not a JSON object")
    return value


def _integer(text: str) -> int:
    if len(text) > _MAX_NUMBER:
        raise JsonError("a number is too long")
    return int(text)


def _fraction(text: str) -> float:
    if len(text) > _MAX_NUMBER:
        raise JsonError("a number is too long")
    return float(text)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise JsonError("an object has the same member twice")
    return members


def _constant(name: str) -> Any:
    raise JsonError(f"{name} is not JSON")


def _check(value: Any, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise JsonError(f"it is nested more than {_MAX_DEPTH} levels deep")
    if isinstance(value, str) and _UNUSABLE.search(value):
        raise JsonError("a string has U+0000 or half of a surrogate pair")
    if isinstance(value, dict):
        for name, member in value.items():
            _check(name, depth)
            _check(member, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, depth + 1)


def canonical(value: Any) -> bytes:
    """Returns the form of RFC 8785. A number that this form would change is a JsonError with the pointer to it (RFC 6901)."""
    parts: list[str] = []
    _write(value, "", 0, parts)
    return "".join(parts).encode("utf-8")


def _write(value: Any, pointer: str, depth: int, out: list[str]) -> None:
    if depth > _MAX_DEPTH:
        raise JsonError(f"the value is nested more than {_MAX_DEPTH} levels deep", pointer)
    if value is None or value is True or value is False:
        out.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, (Number, int, float, Decimal)):
        out.append(_number(value, pointer))
    elif isinstance(value, str):
        out.append(_text(value, pointer))
    elif isinstance(value, (list, tuple)):
        out.append("[")
        for i, item in enumerate(value):
            out.append("," if i else "")
            _write(item, f"{pointer}/{i}", depth + 1, out)
        out.append("]")
    elif isinstance(value, dict):
        out.append("{")
        if not all(isinstance(name, str) for name in value):
            raise JsonError("the names of members must be strings", pointer)
        names = sorted(value, key=_utf16)
        for i, name in enumerate(names):
            out.append(("," if i else "") + _text(name, pointer) + ":")
            _write(value[name], pointer + "/" + name.replace("~", "~0").replace("/", "~1"), depth + 1, out)
        out.append("}")
    else:
        raise JsonError(f"a {type(value).__name__} is not a value of JSON", pointer)


def _utf16(name: str) -> bytes:
    """Returns the order of a member (RFC 8785 3.2.3)."""
    return name.encode("utf-16-be", "surrogatepass")


def _text(value: str, pointer: str) -> str:
    if _UNUSABLE.search(value):
        raise JsonError("a string has U+0000 or half of a surrogate pair", pointer)
    return json.dumps(value, ensure_ascii=False)


def _number(value: Any, pointer: str) -> str:
    text = str(value) if isinstance(value, (Number, Decimal)) else ""
    try:
        number = float(value)
        finite = number - number == 0
        if text and len(text) > _MAX_NUMBER:
            finite = False
        same = finite and (isinstance(value, float) or Decimal(text or int(value)) == Decimal(repr(number)))
    except (ValueError, ArithmeticError):
        same = False
    if not same:
        raise JsonError(
            "the number cannot be represented in RFC 8785, because a double cannot represent it exactly: send it as text", pointer
        )
    return _shortest(number)


def _shortest(number: float) -> str:
    """Writes a number as ECMAScript does (RFC 8785 3.2.2.3). Python uses the same digits, but a different notation."""
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    _, digits, exponent = Decimal(repr(abs(number))).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + int(exponent)
    if 0 < point <= 21:
        whole = text[:point].ljust(point, "0")
        return sign + whole + ("." + text[point:] if len(text) > point else "")
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + text
    mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
    return f"{sign}{mantissa}e{'+' if point > 0 else '-'}{abs(point - 1)}"
