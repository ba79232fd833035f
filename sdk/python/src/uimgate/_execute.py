"""The flow of one call: its price, its attempts and its receipt."""

from __future__ import annotations

import random
import re
import uuid
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from ._agreements import Agreements
from ._answers import Answer, Charge, RateLimit, Sunset, read_result
from ._budget import Budget, Reservation
from ._calls import Unfinished
from ._errors import (
    AddressError,
    JsonError,
    LostError,
    NetworkError,
    OptionsError,
    ParametersError,
    PolicyChangedError,
    RefusalError,
    RenewalError,
    UimError,
)
from ._json import canonical
from ._money import Amount
from ._network import Exchange
from ._policy import Policy, Price
from ._receipts import Problem, Receipt, sha256
from ._record import Record
from ._session import Session
from ._settings import Approve, Call, Flow, Sleep, Work, alone
from ._spending import Spending, unfinished_call

_FIRST_BACKOFF, _MAX_BACKOFF = 0.25, 8.0
_IN_PROGRESS = 1.0
_MARGIN = 20.0  # how much longer than its intent states a call may take
_T = TypeVar("_T")


@dataclass(frozen=True)
class Result(Generic[_T]):
    """The result of a call. charge, rate_limit and receipt are None if the service does not state them. discrepancies lists the
    differences between the receipt and the call. text is the JSON text of the output, which verify_receipt needs."""

    output: _T
    status: int
    charge: Charge | None
    rate_limit: RateLimit | None
    receipt: Receipt | None = field(repr=False)
    discrepancies: tuple[Problem, ...]
    request_id: str
    idempotency_key: str
    replayed: bool
    sunset: Sunset | None
    attempts: int
    text: str = field(repr=False)


@dataclass
class Options:
    """The options of one call."""

    idempotency_key: str | None = None
    budget: Budget | str | None = None
    approve: Approve | None = None
    prove: bool = False
    request_id: str | None = None
    traceparent: str | None = None
    timeout: float | None = None

    def check(self) -> None:
        """Raises an OptionsError if one is wrong."""
        for name, value, pattern in (
            ("idempotency_key must have 1 to 128 visible ASCII characters", self.idempotency_key, r"[!-~]{1,128}"),
            ("request_id must have 1 to 64 characters of A-Z a-z 0-9 . _ -", self.request_id, r"[A-Za-z0-9._-]{1,64}"),
            ("traceparent is not valid", self.traceparent, r"[0-9a-f-]{1,128}"),
        ):
            if value is not None and not re.fullmatch(pattern, value):
                raise OptionsError(name)


class _Attempts:
    """The state of a call across its attempts."""

    def __init__(self, uid: str, body: bytes, key: str, own: bool, prove: bool, timeout: float) -> None:
        self.uid, self.body, self.key, self.own, self.prove, self.timeout = uid, body, key, own, prove, timeout
        self.sent = self.repeats = 0
        self.waited = 0.0
        self.renewed = self.proved_again = self.requested = self.maybe_sent = False
        self.request = sha256(body)
        self.reservation: Reservation | None = None  # of a call that may cost something
        self.record: Record | None = None
        self.former = ""  # an earlier key, for which the service returned a response, and which another key has replaced


class Executor:
    """Makes calls under the agreement with one service."""

    def __init__(self, agreements: Agreements, spending: Spending) -> None:
        self.agreements, self.spending = agreements, spending
        self._proved: set[str] = set()  # intents for which the service has requested a proof
        self._policy: Policy | None = None

    def price_of(self, uid: str) -> Price:
        """Returns the price of a call under the agreed policy, or the highest charge so far if that is more."""
        session = self.agreements.must()
        if self._policy is None or self._policy.digest != session.agreement.policy_digest:
            self._policy = Policy.read(session.policy)
        return self.spending.price(self._policy.price_of(uid), uid)

    def body(self, uid: str, parameters: dict[str, Any] | None) -> bytes:
        """Returns the canonical body of a call. A proof contains its digest."""
        try:
            return canonical({"intent_uid": uid, "parameters": parameters or {}})
        except JsonError as error:
            raise ParametersError(f"the parameters cannot be sent: {error}") from None

    def is_free(self, uid: str, price: Price) -> bool:
        """Reports whether a call changes nothing and costs nothing."""
        intent = self.agreements.catalog.intents.get(uid)
        return price.kind == "free" and intent is not None and intent.safe

    def proves(self, uid: str) -> bool:
        """Reports whether a call should have a proof."""
        return uid in self._proved or not self.is_free(uid, self.price_of(uid))

    def execute(self, uid: str, parameters: dict[str, Any] | None, options: Options) -> Flow:
        """Makes a call. Calls with an unknown price wait for each other, so that only one of them can exceed a budget."""
        options.check()
        if not 0 < len(uid) <= 512:
            raise OptionsError("an intent is named by its UID, such as shop.example:search-products:v1")
        body = self.body(uid, parameters)
        price = self.price_of(uid)
        flow = self._execute(uid, parameters or {}, body, price, options)
        if price.kind in ("unknown", "forbidden"):
            return (yield from alone("unknown price", flow))
        return (yield from flow)

    def _execute(self, uid: str, parameters: dict[str, Any], body: bytes, price: Price, options: Options) -> Flow:
        settings = self.agreements.settings
        intent = self.agreements.catalog.intents.get(uid)
        plain = self.is_free(uid, price) and not options.prove
        key = options.idempotency_key or ("" if plain else str(uuid.uuid4()))
        wait = options.timeout or settings.timeout or max(30.0, (intent.timeout if intent else 0) + _MARGIN)
        c = _Attempts(uid, body, key, options.idempotency_key is None, not plain or uid in self._proved, wait)
        budget: Budget | Amount | None = (
            Amount.parse(options.budget) if isinstance(options.budget, str) else options.budget or settings.budget
        )
        approve = options.approve or settings.approve
        earlier: Unfinished | None = None
        if options.idempotency_key and price.kind != "free":
            earlier = yield Work(unfinished_call(self.spending.file, key, c.request))
        call = Call(self.agreements.catalog.issuer, uid, parameters)
        reservation: Reservation = yield from self.spending.reserve(call, price, budget, approve, earlier.reservation if earlier else None)
        if price.kind != "free":
            c.reservation = reservation
            yield from self.spending.begin(Unfinished(uid, key, settings.clock.now(), c.request, reservation))
        record = c.record = Record(self.agreements, uid, c.request, price.kind == "free")
        try:
            parsed, session = yield from self._attempts(c)
        except UimError as error:
            charge = error.refusal.charge if isinstance(error, RefusalError) else None
            receipt: Receipt | None = None
            if charge and isinstance(error, RefusalError):
                refusal = error.refusal
                receipt, problems = yield from record.end(self.agreements.must(), charge, refusal.receipts, "", refusal.replayed)
                refusal.discrepancies = tuple(problems)
            yield from self.spending.settle(budget, reservation, uid, price, c.key, charge, receipt, error)
            raise
        receipt, problems = None, []
        if parsed.charge:
            receipt, problems = yield from record.end(session, parsed.charge, parsed.receipts, sha256(parsed.raw), parsed.replayed)
        yield from self.spending.settle(budget, reservation, uid, price, c.key, parsed.charge, receipt, None)
        for problem in problems:
            settings.warn(f"the receipt of a call of {uid}: {problem.name}: {problem.detail}")
        return Result(
            parsed.output,
            parsed.status,
            parsed.charge,
            parsed.rate_limit,
            receipt,
            tuple(problems),
            parsed.request_id,
            c.key,
            parsed.replayed,
            parsed.sunset,
            c.sent,
            parsed.raw.decode("utf-8"),
        )

    def _attempts(self, c: _Attempts) -> Flow:
        """Sends a call until there is a response that ends it."""
        settings = self.agreements.settings
        while True:
            try:
                session: Session = yield from self.agreements.current()
            except UimError as error:
                raise _lost(c, error) from error
            if c.record:
                yield from c.record.begin()
            c.sent += 1
            try:
                answer: Answer = yield from self._send(c, session)
                if answer.status // 100 != 2:
                    raise self.agreements.refused(answer, session.agreement.policy_digest)
                parsed = read_result(answer)
                if c.requested:
                    self._proved.add(c.uid)
                return parsed, session
            except (RefusalError, NetworkError, PolicyChangedError, AddressError) as error:
                step = _next(c, error, session, settings.clock.now(), bool(session.token_id))
                wait = _wait(c, step, error, settings.max_attempts, settings.max_wait)
                if wait is None:
                    if isinstance(error, (PolicyChangedError, AddressError)) or not (
                        isinstance(error, RefusalError) and error.refusal.replayed
                    ):
                        raise _lost(c, error) from error
                    raise
                if c.former and c.reservation:
                    again = Unfinished(c.uid, c.key, settings.clock.now(), c.request, c.reservation)
                    yield from self.spending.replace(c.former, again)
                c.former = ""
                if step == "renew":
                    try:
                        yield from self.agreements.renew(session)
                    except UimError as renewal:
                        raise _lost(c, RenewalError(f"the token could not be renewed: {renewal}")) from renewal
                if wait > 0:
                    yield Sleep(wait)

    def _send(self, c: _Attempts, session: Session) -> Flow:
        headers = {"Authorization": f"Bearer {session.token}", "Content-Type": "application/json", "Accept": "application/json"}
        if c.key:
            headers["Idempotency-Key"] = c.key
        if c.prove and session.token_id:
            headers["UIM-Proof"] = self.agreements.proof(session, b64_digest(c.body))
        url = self.agreements.catalog.endpoints["uim-api-execute"]
        exchange = Exchange("POST", url, headers, c.body, self.agreements.settings.max_answer, c.timeout)
        return (yield from self.agreements.exchange(exchange))


def b64_digest(body: bytes) -> str:
    """Returns the digest of a canonical body, as proofs have it."""
    return sha256(body).removeprefix("sha-256:")


_Step = Literal["stop", "again", "renew", "repeat", "wait"]


def _lost(c: _Attempts, error: UimError) -> UimError:
    return LostError(error, c.key) if c.maybe_sent else error


def _next(c: _Attempts, error: UimError, session: Session, now: float, provable: bool) -> _Step:
    """Decides what follows a failed attempt. A call is repeated only if it cannot be done or charged twice."""
    if isinstance(error, NetworkError):
        if error.sent and not c.key:
            return "stop"
        c.maybe_sent = c.maybe_sent or error.sent
        return "repeat"
    if not isinstance(error, RefusalError) or error.refusal.replayed:
        return "stop"  # every repetition gets the same response
    r = error.refusal
    if r.reason == "POLICY_REQUIRES_VERIFICATION" and not c.prove and provable:
        c.prove = c.requested = True
        return "again"
    if r.reason == "PROOF_REPLAYED" and c.prove and not c.proved_again and c.key:
        c.proved_again = True
        return "again"
    if (r.reason == "EXPIRED_TOKEN" or (r.status == 401 and r.reason == "" and session.expired(now))) and not c.renewed:
        c.renewed = True
        return "renew"
    if r.reason == "IDEMPOTENCY_IN_PROGRESS":
        return "wait"
    if r.status == 429:
        return "stop" if r.reason == "QUOTA_EXCEEDED" else "repeat"
    return _after_failure(c, error) if r.status >= 500 else "stop"


def _after_failure(c: _Attempts, error: RefusalError) -> _Step:
    r = error.refusal
    ended = r.outcome in ("not_sent", "failed")
    if r.outcome in ("done", "unknown") or (r.outcome == "failed" and r.status != 503) or (ended and c.key and not c.own):
        return "stop"
    if ended and c.key and not c.maybe_sent:
        c.former, c.key = c.key, str(uuid.uuid4())  # the service has stored its response under the key
    if ended or r.status == 503:
        return "repeat"
    if c.key:
        c.maybe_sent = True
        return "repeat"
    return "stop"


def _wait(c: _Attempts, step: _Step, error: UimError, attempts: int, most: float) -> float | None:
    """Returns the seconds until the next attempt; None if there is none."""
    stated = float(error.refusal.retry_after or 0) if isinstance(error, RefusalError) else 0.0
    if step == "stop":
        return None
    if step in ("again", "renew"):
        return 0.0
    if step == "wait":
        wait, most = max(stated, _IN_PROGRESS), max(most, c.timeout)
    else:
        c.repeats += 1
        if c.repeats >= attempts:
            return None
        backoff = min(_FIRST_BACKOFF * 2 ** (c.repeats - 1), _MAX_BACKOFF)
        wait = stated or backoff / 2 + random.random() * backoff / 2
    if c.waited + wait > most:
        return None
    c.waited += wait
    return wait


__all__ = ["Executor", "Options", "Result", "b64_digest"]
