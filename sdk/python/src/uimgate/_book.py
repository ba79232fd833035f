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


@dataclass(frozen=True)
class Line:
    """A line at the end of a file: its length in bytes, its receipt, and its keys."""

    size: int
    link: Link | None
    jwks: Any

    @classmethod
    def of(cls, record: dict[str, Any], size: int) -> Line:
        """Reads a record."""
        return cls(size, link_in(record), record.get("jwks") if record.get("type") == "keys" else None)


@dataclass(frozen=True)
class End:
    """The end of a file as this process has last read or written it."""

    inode: int
    size: int
    lines: list[Line]


class Book:
    """The book of an agent in a directory. All processes of the agent may write at the same time. It raises FileErrors."""

    def __init__(self, directory: Path, agents: str, agent_id: str, most: int = _MAX_FILE) -> None:
        host = re.sub(r"[^a-z0-9.-]", "_", (urlsplit(agents).hostname or "").lower().removesuffix("."))
        name = hashlib.sha256(f"{agents}\n{agent_id}\n".encode()).hexdigest()[:12]
        self.path = directory / f"{host.lstrip('.')[:100]}-{name}{_EXTENSION}"
        self.documents = Documents(self.path.with_name(self.path.name.removesuffix(_EXTENSION) + ".documents"))
        self._most = most
        self._lock = threading.Lock()
        self._end: End | None = None

    def begin(self, request: str, now: float) -> Mark:
        """Records that a call is about to be sent. It returns the places of the newest entries."""
        mark: Mark = {}

        def sent(lines: list[Line]) -> list[dict[str, Any]]:
            mark.update(newest(_links(lines)))
            return [{"type": "sent", "at": _time(now), "req": request}]

        self._append(sent, now)
        return mark

    def add(self, mark: Mark, call: Known, intent: str, receipt: str, own: bool, problems: list[Problem], now: float) -> list[Problem]:
        """Records a charge with its receipt, if there is one, and the problems that were found. own reports whether the signature is valid
        and the receipt is for this call: it is then compared with the recorded ones. It returns all problems."""
        text = receipt if len(receipt) <= _MAX_RECEIPT else ""
        found = list(problems)

        def record(lines: list[Line]) -> list[dict[str, Any]]:
            mine = link_in({"receipt": text}) if own else None
            if mine:
                found.extend(follow(mark, call.replayed, mine, _links(lines)))
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

        def record(lines: list[Line]) -> list[dict[str, Any]]:
            if any(line.jwks == jwks for line in lines):
                return []
            return [{"type": "keys", "at": _time(now), "jwks": jwks}]

        self._append(record, now)

    def trusted(self) -> KeySet | None:
        """Returns the keys that were recorded last; None if there are none."""
        sets = _key_records(read_private(self.path, _MAX_FILE + _MAX_LINE) or b"")
        return KeySet.parse(json.dumps(sets[-1])) if sets else None

    def _append(self, f: Callable[[list[Line]], list[dict[str, Any]]], now: float) -> None:
        """Appends the records that f returns for the last lines of the file, while this process has the lock."""
        with self._lock, locked(self.path.with_name(self.path.name + ".lock"), 5.0):
            try:
                handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                raise FileError(f"{self.path}: {error.strerror}") from None
            try:
                end = self._read_end(handle)
                self._end = None
                records = f(end.lines)
                texts = [json.dumps(r, separators=(",", ":"), ensure_ascii=False).encode("utf-8") + b"\n" for r in records]
                text, size = b"".join(texts), end.size
                if size > 0 and text and size + len(text) > self._most:
                    self._rotate(text, now)
                    return
                while text:
                    written = os.pwrite(handle, text, size)
                    text, size = text[written:], size + written
                added = [Line.of(record, len(line)) for record, line in zip(records, texts)]
                self._end = End(end.inode, size, _last(end.lines + added))
            except OSError as error:
                raise FileError(f"{self.path}: {error.strerror}") from None
            finally:
                os.close(handle)

    def _read_end(self, handle: int) -> End:
        """Returns the end of the file. It reads the file if another process has changed it, and removes an incomplete last line."""
        info = os.fstat(handle)
        if stat.S_IMODE(info.st_mode) & 0o077:
            raise FileError(f"{self.path}: other users can access it: run chmod 600 on it")
        if self._end and (self._end.inode, self._end.size) == (info.st_ino, info.st_size):
            return self._end
        lines, size = _read_tail(handle, info.st_size)
        return End(info.st_ino, size, [Line.of(_record(line) or {}, len(line) + 1) for line in lines if line])

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


def _links(lines: list[Line]) -> list[Link]:
    return [line.link for line in lines if line.link]


def _last(lines: list[Line]) -> list[Line]:
    """Returns the last lines that have at most _MAX_TAIL bytes in all."""
    first, size = len(lines), 0
    while first > 0 and size + lines[first - 1].size <= _MAX_TAIL:
        first -= 1
        size += lines[first].size
    return lines[first:]


def _read_tail(handle: int, whole: int) -> tuple[list[bytes], int]:
    """Removes an incomplete last line. It returns the last complete lines, and the new size of the file."""
    start = max(0, whole - _MAX_TAIL)
    text = os.pread(handle, _MAX_TAIL, start)
    end = text.rfind(b"\n") + 1
    if end == 0 and start > 0:
        return [], whole  # one line is longer than the tail
    if start + end < whole:
        os.ftruncate(handle, start + end)
    return text[:end].split(b"\n")[1 if start > 0 else 0 :], start + end


def link_in(record: dict[str, Any]) -> Link | None:
    """Returns the receipt in a record of a book; None if it has none that the service made for the agent."""
    text, problems = record.get("receipt"), record.get("problems")
    listed = problems if isinstance(problems, list) else []
    if not isinstance(text, str) or any(isinstance(p, dict) and p.get("name") in _UNSIGNED for p in listed):
        return None
    try:
        _, payload, _, _ = read_jws(text, _MAX_RECEIPT)
        e = decode_object(payload)
        account, epoch = e["account"], e.get("epoch", 0)
        if isinstance(e["k"], int) and isinstance(epoch, int):
            leaf = b64(hashlib.sha256(b"\0" + payload).digest())
            return Link(account["agent"], account["currency"], epoch, e["k"], str(e.get("prev", "")), leaf)
    except (ValueError, KeyError, TypeError, JsonError):
        pass
    return None


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
