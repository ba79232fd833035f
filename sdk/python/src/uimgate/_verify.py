"""Verification of a kept receipt without a connection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._errors import JsonError, OptionsError
from ._json import canonical, decode
from ._keys import digest_of
from ._receipts import KeySet, Problem, read_receipt, sha256


@dataclass(frozen=True)
class VerifiedReceipt:
    """The result of verify_receipt. entry is the signed entry of the ledger, or None if no key of the JWKS signed it. The caller compares
    the amount, the agent and the time in it. problems are SIGNATURE, KEY, REQUEST and ANSWER."""

    entry: dict[str, Any] | None
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


def verify_receipt(
    receipt: str,
    jwks: Mapping[str, Any] | str | bytes,
    *,
    intent: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    text: str | bytes | None = None,
) -> VerifiedReceipt:
    """Verifies a receipt without a connection: its signature by a key of a JWKS, and that it is for the call and the output that its holder
    has kept. jwks is the one of the service (uim-jwks in agents.json), as the holder stored it at the agreement. intent and parameters
    describe the call; without intent they are not compared. text is the output, unchanged: Result.text; None is not compared."""
    if parameters is not None and intent is None:
        raise OptionsError("parameters require intent")
    try:
        keys = KeySet.parse(jwks if isinstance(jwks, (str, bytes)) else json.dumps(jwks, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise OptionsError("jwks is not a JWKS") from None
    found = read_receipt(receipt, keys)
    if found == "KEY":
        return VerifiedReceipt(None, (Problem("KEY", "the key of the receipt is not in the JWKS"),))
    if found == "SIGNATURE":
        return VerifiedReceipt(None, (Problem("SIGNATURE", "the signature of the receipt is not valid"),))
    entry = found[0]
    problems = []
    if intent is not None and entry.get("req") != _request(intent, parameters):
        problems.append(Problem("REQUEST", "the receipt is for a call with another intent or other parameters"))
    if text is not None and entry.get("to") == "captured" and entry.get("ans") != _answer(text, entry.get("ans_form")):
        problems.append(Problem("ANSWER", "the receipt is for another output"))
    return VerifiedReceipt(entry, tuple(problems))


def _request(intent: str, parameters: Mapping[str, Any] | None) -> str:
    """Returns the digest of a call. It is empty if the call has no canonical form."""
    try:
        return "sha-256:" + digest_of({"intent_uid": intent, "parameters": dict(parameters or {})})
    except JsonError:
        return ""


def _answer(text: str | bytes, form: Any) -> str:
    """Returns the digest of an output in the form of the receipt. It is empty if the output does not have this form."""
    try:
        data = text.encode("utf-8") if isinstance(text, str) else text
        if form == "jcs":
            return sha256(canonical(decode(data, exact=True)))
        return sha256(data) if form is None else ""
    except (JsonError, UnicodeEncodeError):
        return ""
