"""Records the calls that were sent and have not ended. After a crash, the next process can repeat them without paying or counting twice."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._budget import Reservation
from ._errors import BudgetError, FileError
from ._files import locked, read_private, write_private
from ._json import decode_object
from ._money import Amount

_MAX_FILE = 4 << 20
_MAX_CALLS = 1000


@dataclass(frozen=True)
class Unfinished:
    """A call whose outcome this agent does not know. Repeat it with the same parameters and idempotency key within 24 hours of at
    (seconds since 1970); the service then neither executes nor charges the call twice."""

    intent: str
    idempotency_key: str
    at: float
    request: str
    reservation: Reservation


class CallsFile:
    """The unfinished calls with one service. The file contains digests of the parameters, not the parameters."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def begin(self, call: Unfinished) -> None:
        """Records a call before it is first sent."""

        def add(calls: dict[str, Any]) -> None:
            if len(calls) >= _MAX_CALLS and call.idempotency_key not in calls:
                raise BudgetError(f"{len(calls)} calls have no known outcome: repeat them, or remove {self._path}")
            amount = call.reservation.amount
            calls[call.idempotency_key] = {
                "intent": call.intent,
                "at": call.at,
                "request": call.request,
                "amount": str(amount) if amount else None,
                "since": dict(call.reservation.since),
            }

        self._change(add)

    def end(self, idempotency_key: str) -> None:
        """Removes a call whose outcome is known."""
        self._change(lambda calls: calls.pop(idempotency_key, None))

    def all(self) -> list[Unfinished]:
        """Returns the calls, the oldest first."""
        with self._lock, locked(self._path.with_name(self._path.name + ".lock")):
            calls = self._read()
        return sorted((_read(key, c) for key, c in calls.items()), key=lambda c: c.at)

    def _change(self, change: Any) -> None:
        with self._lock, locked(self._path.with_name(self._path.name + ".lock")):
            calls = self._read()
            before = dict(calls)
            change(calls)
            if calls != before:
                write_private(self._path, json.dumps({"version": 1, "calls": calls}, indent=1).encode("utf-8"))

    def _read(self) -> dict[str, Any]:
        text = read_private(self._path, _MAX_FILE)
        if text is None:
            return {}
        try:
            calls = decode_object(text)["calls"]
            for key, call in calls.items():
                _read(key, call)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise FileError(f"{self._path} is damaged, so unfinished calls are unknown: repair the file, or remove it") from None
        return dict(calls)


def _read(key: str, call: dict[str, Any]) -> Unfinished:
    amount = Amount.parse(call["amount"]) if call["amount"] is not None else None
    return Unfinished(call["intent"], key, float(call["at"]), call["request"], Reservation(amount, tuple(call["since"].items())))
