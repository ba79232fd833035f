"""The receipts of one agent and one service, in the files that `uimgate agent receipts` reads. Each line is a record. A killed process
leaves at most an incomplete last line, which the next one removes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ._documents import Documents
from ._errors import FileError, JsonError
from ._files import locked, read_private, write_private
from ._json import decode_object
from ._keys import b64, read_jws
from ._receipts import KeySet, Known, Problem

_EXTENSION = ".jsonl"
_MAX_FILE = 16 << 20  # bytes, after which a new file begins
_MAX_FILES = 8  # the oldest is removed then
_MAX_LINE = 1 << 20
_MAX_TAIL = 64 << 10  # bytes at the end of the file that are searched for earlier records
_MAX_RECEIPT = 16 << 10
_KEYS = b'{"type":"keys"'
_UNSIGNED = ("SIGNATURE", "KEY", "AGREEMENT", "UNKNOWN_EXECUTION")  # problems of receipts that the service did not make for the agent

Place = tuple[int, int]  # epoch and number of an entry
Mark = dict[str, Place]  # the newest entry before a call, by currency


@dataclass(frozen=True)
class Link:
    """The members of a receipt that place it in a chain. leaf is the hash of the entry in a Merkle tree (RFC 6962, section 2.1)."""

    agent: str
    currency: str
    epoch: int
    k: int
    prev: str
    leaf: str

    @property
    def place(self) -> Place:
        """The epoch and the number."""
        return self.epoch, self.k


class Book:
    """The book of an agent in a directory. All processes of the agent may write at the same time. It raises FileErrors."""

    def __init__(self, directory: Path, agents: str, agent_id: str, most: int = _MAX_FILE) -> None:
        host = re.sub(r"[^a-z0-9.-]", "_", (urlsplit(agents).hostname or "").lower().removesuffix("."))
        name = hashlib.sha256(f"{agents}\n{agent_id}\n".encode()).hexdigest()[:12]
        self.path = directory / f"{host.lstrip('.')[:100]}-{name}{_EXTENSION}"
        self.documents = Documents(self.path.with_name(self.path.name.removesuffix(_EXTENSION) + ".documents"))
        self._most = most
        self._lock = threading.Lock()

    def begin(self, request: str, now: float) -> Mark:
        """Records that a call is about to be sent. It returns the places of the newest entries."""
        mark: Mark = {}

        def sent(tail: list[dict[str, Any]]) -> list[dict[str, Any]]:
            mark.update(newest(links_in(tail)))
            return [{"type": "sent", "at": _time(now), "req": request}]

        self._append(sent, now)
        return mark

    def add(self, mark: Mark, call: Known, intent: str, receipt: str, own: bool, problems: list[Problem], now: float) -> list[Problem]:
        """Records a charge with its receipt, if there is one, and the problems that were found. own reports whether the signature is valid
        and the receipt is for this call: it is then compared with the recorded ones. It returns all problems."""
        text = receipt if len(receipt) <= _MAX_RECEIPT else ""
        found = list(problems)

        def record(tail: list[dict[str, Any]]) -> list[dict[str, Any]]:
            for mine in links_in([{"receipt": text}]) if own else []:
                found.extend(follow(mark, call.replayed, mine, links_in(tail)))
            line: dict[str, Any] = {"type": "call", "at": _time(now), "call": _members(call, intent)}
            if text:
                line["receipt"] = text
            if found:
                line["problems"] = [{"name": p.name, "where": call.execution[:64], "detail": p.detail} for p in found]
            return [line]

        self._append(record, now)
        return found

    def trust(self, keys: KeySet, now: float) -> None:
        """Records the keys that the agent trusts, unless one of the last records has the same ones."""
        jwks = _jwks(keys)

        def record(tail: list[dict[str, Any]]) -> list[dict[str, Any]]:
            if any(r.get("type") == "keys" and r.get("jwks") == jwks for r in tail):
                return []
            return [{"type": "keys", "at": _time(now), "jwks": jwks}]

        self._append(record, now)

    def trusted(self) -> KeySet | None:
        """Returns the keys that were recorded last; None if there are none."""
        sets = _key_records(read_private(self.path, _MAX_FILE + _MAX_LINE) or b"")
        return KeySet.parse(json.dumps(sets[-1])) if sets else None

    def _append(self, f: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], now: float) -> None:
        """Appends the records that f returns for the last records of the file, while this process has the lock."""
        with self._lock, locked(self.path.with_name(self.path.name + ".lock"), 5.0):
            try:
                handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                raise FileError(f"{self.path}: {error.strerror}") from None
            try:
                tail, size = _read_tail(handle, self.path)
                records = f(tail)
                lines = b"".join(json.dumps(r, separators=(",", ":"), ensure_ascii=False).encode("utf-8") + b"\n" for r in records)
                if size > 0 and lines and size + len(lines) > self._most:
                    self._rotate(lines, now)
                    return
                while lines:
                    written = os.pwrite(handle, lines, size)
                    lines, size = lines[written:], size + written
            except OSError as error:
                raise FileError(f"{self.path}: {error.strerror}") from None
            finally:
                os.close(handle)

    def _older(self, n: int) -> Path:
        """Returns the path of file n: 0 is the current one, and higher numbers are older."""
        return self.path if n == 0 else self.path.with_name(f"{self.path.name.removesuffix(_EXTENSION)}.{n}{_EXTENSION}")

    def _rotate(self, lines: bytes, now: float) -> None:
        """Begins a new file, which repeats the keys."""
        keys: dict[tuple[str, str], Any] = {}
        for n in range(_MAX_FILES):
            for jwks in _key_records(read_private(self._older(n), _MAX_FILE + _MAX_LINE) or b""):
                keys.update({(str(k.get("uim_purpose")), str(k.get("kid"))): k for k in jwks["keys"] if isinstance(k, dict)})
        for n in range(_MAX_FILES - 2, -1, -1):
            with contextlib.suppress(FileNotFoundError):
                os.replace(self._older(n), self._older(n + 1))
        first = b""
        if keys:
            record = {"type": "keys", "at": _time(now), "jwks": {"keys": [keys[place] for place in sorted(keys)]}}
            first = json.dumps(record, separators=(",", ":")).encode("utf-8") + b"\n"
        write_private(self.path, first + lines)


def _time(now: float) -> str:
    return datetime.fromtimestamp(now, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _members(c: Known, intent: str) -> dict[str, Any]:
    """Returns a call in the form of a record."""
    members = {
        "iss": c.issuer,
        "agent": c.agent,
        "jkt": c.key_id,
        "pol": c.policy,
        "pol_next": c.successor,
        "agr": c.agreement,
        "pat": c.token_id,
        "replayed": c.replayed,
        "id": c.execution,
        "amount": str(c.amount),
        "state": c.state,
        "intent": intent,
        "req": c.request,
        "ans": c.answer,
        "ans_jcs": c.canonical,
    }
    return {name: value for name, value in members.items() if value}


def _jwks(keys: KeySet) -> dict[str, Any]:
    return {
        "keys": [
            {
                "alg": "EdDSA",
                "crv": key.jwk["crv"],
                "kid": kid,
                "kty": key.jwk["kty"],
                "uim_purpose": "receipt",
                "use": "sig",
                "x": key.jwk["x"],
            }
            for kid, key in sorted(keys.keys.items())
        ]
    }


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _key_records(text: bytes) -> list[dict[str, Any]]:
    """Returns the sets of keys in a file, in its order."""
    found = [_record(line) for line in text.split(b"\n") if line.startswith(_KEYS)]
    sets = [r["jwks"] for r in found if r and isinstance(r.get("jwks"), dict)]
    return [s for s in sets if isinstance(s.get("keys"), list)]


def _read_tail(handle: int, path: Path) -> tuple[list[dict[str, Any]], int]:
    """Removes an incomplete last line. It returns the last complete records, and the size of the file."""
    info = os.fstat(handle)
    if stat.S_IMODE(info.st_mode) & 0o077:
        raise FileError(f"{path}: other users can access it: run chmod 600 on it")
    start = max(0, info.st_size - _MAX_TAIL)
    text = os.pread(handle, _MAX_TAIL, start)
    end = text.rfind(b"\n") + 1
    if end == 0 and start > 0:
        return [], info.st_size  # one line is longer than the tail
    if start + end < info.st_size:
        os.ftruncate(handle, start + end)
    lines = text[:end].split(b"\n")[1 if start > 0 else 0 :]
    records = [_record(line) for line in lines]
    return [r for r in records if r is not None], start + end


def links_in(records: list[dict[str, Any]]) -> list[Link]:
    """Returns the receipts in records of a book."""
    links = []
    for record in records:
        text, problems = record.get("receipt"), record.get("problems")
        listed = problems if isinstance(problems, list) else []
        if not isinstance(text, str) or any(isinstance(p, dict) and p.get("name") in _UNSIGNED for p in listed):
            continue
        try:
            _, payload, _, _ = read_jws(text, _MAX_RECEIPT)
            e = decode_object(payload)
            account, epoch = e["account"], e.get("epoch", 0)
            if isinstance(e["k"], int) and isinstance(epoch, int):
                leaf = b64(hashlib.sha256(b"\0" + payload).digest())
                links.append(Link(account["agent"], account["currency"], epoch, e["k"], str(e.get("prev", "")), leaf))
        except (ValueError, KeyError, TypeError, JsonError):
            continue
    return links


def newest(links: list[Link]) -> Mark:
    """Returns the places of the newest entries."""
    mark: Mark = {}
    for link in links:
        mark[link.currency] = max(link.place, mark.get(link.currency, link.place))
    return mark


def follow(mark: Mark, replayed: bool, e: Link, earlier: list[Link]) -> list[Problem]:
    """Compares a receipt with earlier ones of the account, as the Go client does. mark has the places before the call."""
    problems, known = [], False
    for other in earlier:
        if (other.agent, other.currency) != (e.agent, e.currency):
            continue
        if other.k == e.k and other.leaf == e.leaf:
            known = True
        elif other.k == e.k:
            problems.append(Problem("FORK", f"another receipt also has the number {e.k}"))
        elif (other.k == e.k - 1 and other.leaf != e.prev) or (other.k == e.k + 1 and other.prev != e.leaf):
            low, high = sorted((e.k, other.k))
            problems.append(Problem("FORK", f"the receipts {low} and {high} do not follow each other"))
    last = mark.get(e.currency)
    if replayed or last is None or problems:
        return problems
    epoch, k = last
    if known and e.place <= last:
        return [Problem("DUPLICATE", "it is the receipt of an earlier call")]
    if e.epoch > epoch and e.k <= k:
        detail = f"the receipt has the number {e.k}, and number {k} existed before the call"
        return [Problem("EPOCH", f"the service has restored an earlier state: {detail}")]
    if e.k <= k or e.epoch < epoch:
        detail = f"the receipt has the number {e.k} in epoch {e.epoch}, and number {k} in epoch {epoch} existed before the call"
        return [Problem("ORDER", detail)]
    return problems
