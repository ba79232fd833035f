"""Receipts: signed entries of a service's ledger. docs/evidence.md describes them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal

from ._answers import identifier
from ._errors import JsonError, OptionsError
from ._json import canonical, decode_object
from ._keys import PublicKey, b64, read_jws
from ._money import Amount, read_amount

_MAX_RECEIPT = 16 << 10
_MAX_KEYS = 1000
_MAX_INTRODUCTIONS = 100


@dataclass(frozen=True)
class Problem:
    """A difference between a receipt and a call. name is AMOUNT, STATE, REQUEST, ANSWER, POLICY, AGREEMENT, UNKNOWN_EXECUTION, KEY,
    SIGNATURE or CHARGED_WITHOUT_RECEIPT."""

    name: str
    detail: str


@dataclass(frozen=True)
class Receipt:
    """A receipt that is for the call and has a valid signature."""

    entry: dict[str, Any]
    amount: Amount
    state: str
    leaf: str
    text: str


@dataclass(frozen=True)
class Known:
    """The agent's record of a call. Digests have the form sha-256:…; an empty one is not compared."""

    issuer: str
    agent: str
    execution: str
    amount: Amount
    state: str
    key_id: str = ""
    policy: str = ""
    agreement: str = ""
    token_id: str = ""
    request: str = ""
    answer: str = ""
    canonical: str = ""
    replayed: bool = False
    successor: str = ""  # digest of another policy that has the same terms for the intent as policy


def sha256(data: bytes) -> str:
    """Returns a digest as receipts have it."""
    return "sha-256:" + b64(hashlib.sha256(data).digest())


class KeySet:
    """The keys of a service for receipts that the agent trusts, by id."""

    def __init__(self) -> None:
        self.keys: dict[str, PublicKey] = {}

    @classmethod
    def parse(cls, jwks: bytes | str) -> KeySet:
        """Reads the keys for receipts in a JWKS (RFC 7517). Others are skipped."""
        found = cls()
        for member in members_of(jwks):
            if member.get("uim_purpose") == "receipt":
                try:
                    key = PublicKey.from_jwk(member)
                except OptionsError:
                    continue
                if member.get("kid") == key.thumbprint:
                    found.keys[key.thumbprint] = key
        return found

    def introduce(self, text: str) -> bool:
        """Adds the key of an entry of kind key, if a key of the set signed the entry."""
        try:
            header, payload, signature, signed = read_jws(text, _MAX_RECEIPT)
            entry = _read_entry(payload)
            by = self.keys[header["kid"]]
            key = PublicKey.from_jwk(entry["jwk"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return False
        right = header.get("typ") == "uim-receipt+jwt" and header.get("alg") in ("EdDSA", "Ed25519") and entry["kind"] == "key"
        if not right or entry.get("purpose") != "receipt" or entry.get("kid") != key.thumbprint or not by.verifies(signed, signature):
            return False
        self.keys[key.thumbprint] = key
        return True

    def introduce_all(self, jwks: bytes) -> bool:
        """Adds the keys of a JWKS that the set introduces (uim_entry), one after the other."""
        entries = [m["uim_entry"] for m in members_of(jwks) if isinstance(m.get("uim_entry"), str)][:_MAX_INTRODUCTIONS]
        before = len(self.keys)
        for _ in entries:
            had = len(self.keys)
            for entry in entries:
                self.introduce(entry)
            if len(self.keys) == had:
                break
        return len(self.keys) > before


def members_of(jwks: bytes | str) -> list[dict[str, Any]]:
    """Returns the keys of a JWKS; none if it is not one."""
    try:
        members = decode_object(jwks).get("keys")
    except JsonError:
        return []
    return [m for m in members if isinstance(m, dict)] if isinstance(members, list) and len(members) <= _MAX_KEYS else []


def _read_entry(payload: bytes) -> dict[str, Any]:
    entry = decode_object(payload)
    if entry.get("v") != "uim-entry-1" or canonical(decode_object(payload, exact=True)) != payload:
        raise JsonError("the payload is not an entry of a ledger")
    return entry


def read_receipt(text: str, trusted: KeySet) -> tuple[dict[str, Any], bytes] | Literal["SIGNATURE", "KEY"]:
    """Returns the entry in a receipt and its bytes, if a trusted key signed it; otherwise the name of the problem."""
    try:
        header, payload, signature, signed = read_jws(text, _MAX_RECEIPT)
        entry = _read_entry(payload)
    except ValueError:
        return "SIGNATURE"
    if header.get("typ") != "uim-receipt+jwt":
        return "SIGNATURE"
    key = trusted.keys.get(str(header.get("kid")))
    if key is None:
        return "KEY"
    if header.get("alg") not in ("EdDSA", "Ed25519") or not key.verifies(signed, signature):
        return "SIGNATURE"
    return entry, payload


def check_receipt(text: str, trusted: KeySet, known: Known) -> tuple[Receipt | None, list[Problem]]:
    """Checks the receipt of a call. It returns the receipt if the receipt is for this call, even if other values differ."""
    found = read_receipt(text, trusted)
    if found == "SIGNATURE":
        return None, [Problem("SIGNATURE", "the signature of the receipt is not valid")]
    if found == "KEY":
        return None, [Problem("KEY", "the key of the receipt is not a key that this agent trusts")]
    entry, payload = found
    account = entry.get("account")
    account = account if isinstance(account, dict) else {}
    amount = read_amount(entry.get("amount"), account.get("currency"))
    if entry.get("kind") != "charge" or entry.get("iss") != known.issuer or account.get("agent") != known.agent or amount is None:
        return None, [Problem("AGREEMENT", "the receipt is for another service or another agent")]
    if entry.get("id") != known.execution:
        return None, [Problem("UNKNOWN_EXECUTION", f"the receipt is for the execution {identifier(entry.get('id'))}")]
    leaf = b64(hashlib.sha256(b"\0" + payload).digest())
    return Receipt(entry, amount, str(entry.get("to")), leaf, text), _compare(entry, amount, known)


def _compare(entry: dict[str, Any], amount: Amount, known: Known) -> list[Problem]:
    def differs(name: str, value: str) -> bool:
        return value != "" and entry.get(name) != value

    problems = []
    if amount != known.amount:
        problems.append(Problem("AMOUNT", f"the receipt is for {amount}, and UIM-Charge for {known.amount}"))
    if known.state in ("captured", "released") and entry.get("to") != known.state:
        problems.append(Problem("STATE", "the receipt and UIM-Charge state different states of the charge"))
    if differs("req", known.request):
        problems.append(Problem("REQUEST", "the receipt is for a call with another intent or other parameters"))
    if entry.get("to") == "captured" and differs("ans", known.canonical if entry.get("ans_form") == "jcs" else known.answer):
        problems.append(Problem("ANSWER", "the receipt is for an output that differs from the one that the agent received"))
    if known.replayed:  # the call was made under the agreement of that time
        return problems
    if differs("pol", known.policy) and (not known.successor or entry.get("pol") != known.successor):
        problems.append(Problem("POLICY", "the receipt is for a policy that the agent did not agree to"))
    if differs("agr", known.agreement) or differs("pat", known.token_id) or ("jkt" in entry and differs("jkt", known.key_id)):
        problems.append(Problem("AGREEMENT", "the receipt is for another agreement, token or key of the agent"))
    return problems
