"""Budgets, which limit the cost of calls in an hour, a day or a month. The file has the format of the bridge's spent.json."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, cast

from ._errors import BudgetError, FileError, JsonError, OptionsError
from ._files import locked, read_private, write_private
from ._json import decode_object
from ._money import Amount

_MAX_FILE = 4 << 20
_PERIODS = ("hour", "day", "month")
_MOST = 2**63 - 1


@dataclass(frozen=True)
class Limit:
    """The maximum amount for one period of the UTC calendar, such as 5 EUR/day."""

    amount: Amount
    period: str

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Reads "5 EUR/day"; a period is hour, day or month."""
        amount, _, period = text.partition("/")
        if period.strip() not in _PERIODS:
            raise OptionsError('a budget must be such as "5 EUR/day", for an hour, a day or a month')
        return cls(Amount.parse(amount), period.strip())

    def __str__(self) -> str:
        return f"{self.amount}/{self.period}"


@dataclass(frozen=True)
class Reservation:
    """An amount that is reserved for a call, and the start of each period that counts it."""

    amount: Amount | None
    since: tuple[tuple[str, str], ...] = ()


class Budget:
    """Limits the cost of calls. With a path, the amounts spent are in a file that other processes share, such as the bridge; otherwise
    they are in memory."""

    def __init__(self, *limits: str, path: str | Path | None = None, now: Callable[[], float] = time.time) -> None:
        self.limits = tuple(Limit.parse(limit) for limit in limits)
        if not self.limits:
            raise OptionsError('a budget needs a limit, such as "5 EUR/day"')
        self._path = None if path is None else Path(path).expanduser()
        self._now = now
        self._lock = threading.Lock()
        self._memory: dict[str, Any] = {"version": 1, "spent": {}}

    def reserve(self, price: Amount | None) -> Reservation:
        """Reserves a price. None means that the price is unknown: then nothing is reserved, but no limit may be used up."""
        applies = [limit for limit in self.limits if price is None or limit.amount.currency == price.currency]
        if not applies:
            raise BudgetError(f"the call costs up to {price}, and there is no budget in {price.currency if price else ''}")
        with self._accounts() as accounts:
            for limit in applies:
                window = self._window(accounts, limit.amount.currency, limit.period)
                requested = price.nano if price else 0
                if window["nano"] + requested > limit.amount.nano or (price is None and window["nano"] >= limit.amount.nano):
                    spent = Amount(window["nano"], limit.amount.currency)
                    cost = f"the call costs up to {price}" if price else "the price is unknown"
                    raise BudgetError(f"{cost}, and {spent} of the budget of {limit} is spent or reserved")
            return Reservation(price, self._add(accounts, price) if price else ())

    def settle(self, reservation: Reservation, charged: Amount | None) -> None:
        """Replaces the reservation of a call with its actual cost; None means that the call was free."""
        charged = charged if charged and charged.nano else None
        if charged == reservation.amount or (not reservation.since and charged is None):
            return
        with self._accounts() as accounts:
            same = reservation.amount is not None and (charged is None or charged.currency == reservation.amount.currency)
            for period, since in reservation.since:
                window = self._window(accounts, cast(Amount, reservation.amount).currency, period)
                if window["from"] == since and same:
                    window["nano"] = max(0, window["nano"] - cast(Amount, reservation.amount).nano)
            reserved = dict(reservation.since)
            for period in _PERIODS if charged else ():
                window = self._window(accounts, cast(Amount, charged).currency, period)
                if period not in reserved or window["from"] <= reserved[period]:
                    window["nano"] = min(_MOST, window["nano"] + cast(Amount, charged).nano)

    def _add(self, accounts: dict[str, Any], amount: Amount) -> tuple[tuple[str, str], ...]:
        since = []
        for period in _PERIODS:
            window = self._window(accounts, amount.currency, period)
            window["nano"] = min(_MOST, window["nano"] + amount.nano)
            since.append((period, window["from"]))
        return tuple(since)

    def _window(self, accounts: dict[str, Any], currency: str, period: str) -> dict[str, Any]:
        start = _start(self._time(), period)
        windows = accounts["spent"].setdefault(currency, {})
        if period not in windows or windows[period]["from"] < start:
            windows[period] = {"from": start, "nano": 0}
        return cast("dict[str, Any]", windows[period])

    def _time(self) -> datetime:
        return datetime.fromtimestamp(self._now(), timezone.utc)

    @contextmanager
    def _accounts(self) -> Iterator[dict[str, Any]]:
        with self._lock:
            if self._path is None:
                copy = json.loads(json.dumps(self._memory))
                yield copy
                self._memory = copy
                return
            with locked(self._path.with_name(self._path.name + ".lock")):
                accounts = self._read(self._path)
                yield accounts
                now = _stamp(self._time())
                spent = {
                    c: dict(sorted(w.items()))
                    for c, w in sorted(accounts["spent"].items())
                    if any(_end(v["from"], p) > now for p, v in w.items())
                }
                text = json.dumps({"version": 1, "spent": spent}, indent=2) + "\n"
                write_private(self._path, text.encode("ascii"))

    def _read(self, path: Path) -> dict[str, Any]:
        text = read_private(path, _MAX_FILE)
        if text is None:
            return {"version": 1, "spent": {}}
        try:
            accounts = decode_object(text)
            if accounts.get("version") != 1:
                raise JsonError("another version")
            for windows in accounts["spent"].values():
                for window in windows.values():
                    window["from"] = _stamp(datetime.fromisoformat(window["from"].replace("Z", "+00:00")))
                    if not isinstance(window["nano"], int) or window["nano"] < 0:
                        raise JsonError("an amount is not valid")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise FileError(f"{path} is damaged, so the amounts spent are unknown: repair the file, or remove it to start over") from None
        return accounts


def _start(at: datetime, period: str) -> str:
    at = at.replace(minute=0, second=0, microsecond=0)
    if period != "hour":
        at = at.replace(hour=0)
    if period == "month":
        at = at.replace(day=1)
    return _stamp(at)


def _end(since: str, period: str) -> str:
    at = datetime.fromisoformat(since.replace("Z", "+00:00"))
    if period == "month":
        return _stamp((at.replace(day=1) + timedelta(days=32)).replace(day=1))
    return _stamp(at + (timedelta(hours=1) if period == "hour" else timedelta(days=1)))


def _stamp(at: datetime) -> str:
    return at.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
