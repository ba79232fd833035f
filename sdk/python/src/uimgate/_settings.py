"""The options of a client, and the effects that a client requests from its driver."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._answers import Answer, http_time
from ._budget import Budget
from ._errors import OptionsError
from ._keys import Key
from ._policy import Policy, Price

_log = logging.getLogger("uimgate")
_TOLERANCE = 60  # seconds that a slow connection may explain


@dataclass(frozen=True)
class Call:
    """A call that waits for approval."""

    service: str
    intent: str
    parameters: dict[str, Any] = field(repr=False)


Approve = Callable[[Call, Price], "bool | Awaitable[bool]"]
Accept = Callable[[Policy], "bool | Awaitable[bool]"]
Flow = Generator["Effect", Any, Any]


@dataclass
class Settings:
    """The options of UimClient.discover, checked."""

    key: Key | None
    agent_id: str
    budget: Budget | None
    approve: Approve | None
    directory: Path | None
    receipts: Path | None
    doh: str | None
    allow_insecure: bool
    timeout: float | None
    max_attempts: int
    max_wait: float
    max_answer: int
    clock: Clock
    warn: Callable[[str], None]


def settings_of(
    key: Key | None = None,
    *,
    agent_id: str | None = None,
    budget: Budget | None = None,
    approve: Approve | None = None,
    directory: str | Path | None = None,
    receipts: str | Path | None = None,
    doh: str | None = "https://cloudflare-dns.com/dns-query",
    allow_insecure: bool = False,
    timeout: float | None = None,
    max_attempts: int = 4,
    max_wait: float = 30.0,
    max_answer: int = 8 << 20,
    now: Callable[[], float] = time.time,
    on_warning: Callable[[str], None] | None = None,
) -> Settings:
    """Checks the options, which UimClient.discover describes."""
    if key is not None and not isinstance(key, Key):
        raise OptionsError("key must be a uimgate.Key: use Key.from_file, Key.from_env, Key.from_signer or Key.generate")
    if agent_id is None:
        agent_id = f"agent-{key.thumbprint[:12]}" if key else ""
    if key is not None and not re.fullmatch(r"[!-~]{1,200}", agent_id):
        raise OptionsError("agent_id must have 1 to 200 visible ASCII characters")
    if max_attempts < 1 or max_wait < 0 or max_answer < 1 or (timeout is not None and timeout <= 0):
        raise OptionsError("max_attempts, max_answer and timeout must be above zero, and max_wait must not be negative")
    warn = on_warning or _log.warning
    where = None if directory is None else Path(directory).expanduser()
    kept = None if receipts is None else Path(receipts).expanduser()
    clock = Clock(now, warn)
    return Settings(
        key, agent_id, budget, approve, where, kept, doh, allow_insecure, timeout, max_attempts, max_wait, max_answer, clock, warn
    )


class Clock:
    """The clock of the service. That of this machine is used until the Date of a response differs from it by more than a minute:
    agreements and proofs must be within five minutes of the clock of the service."""

    def __init__(self, local: Callable[[], float], warn: Callable[[str], None]) -> None:
        self._local, self._warn, self._offset = local, warn, 0.0

    def now(self) -> float:
        """Seconds since 1970."""
        return self._local() + self._offset

    def local(self) -> float:
        """Seconds since 1970 by the clock of this machine."""
        return self._local()

    def observe(self, answer: Answer) -> bool:
        """Reads the time of a response (RFC 9110, section 6.6.1), and reports whether it set the clock."""
        date, age = http_time(answer.headers.get("Date", "")), answer.headers.get("Age", "0")
        if date is None or not re.fullmatch(r"[0-9]{1,9}", age):
            return False
        offset = date + int(age) - self._local()
        if abs(offset - self._offset) <= _TOLERANCE:
            return False
        self._offset = 0.0 if abs(offset) <= _TOLERANCE else offset
        if self._offset:
            behind = "behind" if offset > 0 else "ahead of"
            self._warn(
                f"the clock of this machine is {round(abs(offset) / 60)} minutes {behind} the clock of the service: "
                "its Date is used for agreements, proofs and renewals. Set the clock"
            )
        return True


@dataclass
class Sleep:
    """Waits for some seconds."""

    seconds: float


@dataclass
class Ask:
    """Calls a function of the user, which may be a coroutine function in an AsyncUimClient."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass
class Work:
    """Runs a function that uses files."""

    function: Callable[[], Any]


@dataclass
class Acquire:
    """Waits until no other flow holds the lock with this name. The answer is the lock, which the flow releases."""

    lock: str


Effect = Any  # an Exchange, Sleep, Ask, Work or Acquire


def alone(lock: str, flow: Flow) -> Flow:
    """Runs a flow while no other flow holds the lock with this name."""
    held = yield Acquire(lock)
    try:
        return (yield from flow)
    finally:
        held.release()
