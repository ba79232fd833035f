"""Adds the token and proofs of an agent to requests that other libraries send: MCP, A2A, and calls of your own.

    httpx.Client(auth=UimAuth(client))                  # or
    httpx.Client(transport=UimTransport(client))

Only requests to the origins of the service's endpoints get a token. UimTransport is below the redirects of httpx, so that a redirect to
another origin carries neither token nor proof; with UimAuth, httpx itself removes the token from such a redirect. """

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from typing import Any

import httpx

from ._answers import Charge
from ._budget import Budget, Reservation
from ._calls import Unfinished
from ._drive import drive, drive_async
from ._errors import AddressError, NotAgreedError, OptionsError, UimError
from ._execute import b64_digest
from ._money import Amount
from ._network import AsyncGuardedTransport, GuardedTransport, check_url, origin_of
from ._policy import Price
from ._receipts import sha256
from ._record import Record
from ._settings import Approve, Call, Effect, Flow, alone
from ._subject import Subject, Subjects, account_of
from .client import AsyncUimClient, UimClient

_MAX_READ = 8 << 20
_ENDPOINTS = ("uim-api-execute", "uim-mcp", "uim-a2a", "uim-api-discovery", "uim-pat-introspect")


@dataclass
class _Transmit:
    """Sends a request of the library. reads reports whether the response must be read, because it may state a charge."""

    request: httpx.Request
    reads: bool = False


class _Gate:
    """The flow of one request of another library."""

    def __init__(self, client: UimClient | AsyncUimClient, budget: Budget | str | None, approve: Approve | None) -> None:
        self._client = client
        self._agreements, self._executor = client._agreements, client._executor
        self._budget: Budget | Amount | None = Amount.parse(budget) if isinstance(budget, str) else budget or client._settings.budget
        self._approve = approve or client._settings.approve
        self._subjects = Subjects(self._agreements)
        self._origins = {origin_of(url) for name, url in client.endpoints.items() if name in _ENDPOINTS}

    def flow(self, request: httpx.Request, body: bytes) -> Flow:
        """Sends a request, with a token and a proof if it is for the service."""
        if not self._ours(str(request.url)):
            return (yield _Transmit(request))
        try:
            self._agreements.must()
        except NotAgreedError:
            return (yield _Transmit(request))  # the catalogue is public
        subject: Subject | None = yield from self._subjects.of(str(request.url), body)
        if subject is None:
            return (yield from self._send(request, None, False))
        price = self._executor.price_of(subject.uid)
        flow = self._call(request, subject, price)
        if price.kind in ("unknown", "forbidden"):
            return (yield from alone("unknown price", flow))
        return (yield from flow)

    def _ours(self, url: str) -> bool:
        try:
            check_url(url, None, self._client._settings.allow_insecure)
        except AddressError:
            return False
        return origin_of(url) in self._origins

    def _call(self, request: httpx.Request, subject: Subject, price: Price) -> Flow:
        spending = self._executor.spending
        body = self._executor.body(subject.uid, subject.parameters)
        call = Call(self._client.issuer, subject.uid, subject.parameters)
        reservation: Reservation = yield from spending.reserve(call, price, self._budget, self._approve, None)
        key = request.headers.get("Idempotency-Key", "")
        if price.kind != "free" and key:
            now = self._agreements.settings.clock.now()
            yield from spending.begin(Unfinished(subject.uid, key, now, sha256(body), reservation))
        record = Record(self._agreements, subject.uid, sha256(body), price.kind == "free")
        yield from record.begin()
        digest = b64_digest(body) if self._executor.proves(subject.uid) else None
        response: httpx.Response = yield from self._send(request, digest, price.kind != "free")
        if price.kind != "free" or "UIM-Charge" in response.headers:
            content = response.content if response.is_stream_consumed else None
            charge, error = account_of(response.status_code, response.headers, content)
            yield from spending.settle(self._budget, reservation, subject.uid, price, key, charge, None, error)
            if charge and self._agreements.book:
                yield from self._record(record, subject, charge, response)
        return response

    def _record(self, record: Record, subject: Subject, charge: Charge, response: httpx.Response) -> Flow:
        receipts = tuple(response.headers.get_list("UIM-Receipt"))
        replayed = response.headers.get("Idempotency-Replayed", "").lower() == "true"
        _, problems = yield from record.end(self._agreements.must(), charge, receipts, "", replayed)
        for problem in problems:
            self._agreements.settings.warn(f"the receipt of a call of {subject.uid}: {problem.name}: {problem.detail}")

    def _send(self, request: httpx.Request, digest: str | None, reads: bool) -> Flow:
        for last in (False, True):
            session = yield from self._agreements.current()
            request.headers["Authorization"] = f"Bearer {session.token}"
            if digest and session.token_id:
                request.headers["UIM-Proof"] = self._agreements.proof(session, digest)
            response: httpx.Response = yield _Transmit(request, reads)
            if response.status_code != 401 or last:
                return response
            try:  # nothing was done: the token may have ended before its time
                yield from self._agreements.renew(session)
            except UimError:
                return response
        raise AssertionError


def _readable(response: httpx.Response) -> bool:
    """Reports whether a response is JSON of a bounded size, and not a stream of events."""
    length = response.headers.get("Content-Length", "")
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return kind.endswith("json") and length.isdigit() and int(length) <= _MAX_READ


class UimAuth(httpx.Auth):
    """Authenticates requests of httpx to one service. budget and approve replace those of the client."""

    requires_request_body = True

    def __init__(self, client: UimClient | AsyncUimClient, *, budget: Budget | str | None = None, approve: Approve | None = None) -> None:
        self._client, self._gate = client, _Gate(client, budget, approve)

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if not isinstance(self._client, UimClient):
            raise OptionsError("httpx.Client needs a UimAuth of a UimClient")
        flow = self._gate.flow(request, request.read())
        value: Any = None
        failure: BaseException | None = None
        while True:
            try:
                effect = flow.send(value) if failure is None else flow.throw(failure)
            except StopIteration:
                return
            value = failure = None
            try:
                if isinstance(effect, _Transmit):
                    value = yield effect.request
                    if effect.reads and _readable(value):
                        value.read()
                else:
                    value = self._client._driver._do(effect)
            except GeneratorExit:
                raise
            except BaseException as error:
                failure = error

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        if not isinstance(self._client, AsyncUimClient):
            raise OptionsError("httpx.AsyncClient needs a UimAuth of an AsyncUimClient")
        flow = self._gate.flow(request, await request.aread())
        value: Any = None
        failure: BaseException | None = None
        while True:
            try:
                effect = flow.send(value) if failure is None else flow.throw(failure)
            except StopIteration:
                return
            value = failure = None
            try:
                if isinstance(effect, _Transmit):
                    value = yield effect.request
                    if effect.reads and _readable(value):
                        await value.aread()
                else:
                    value = await self._client._driver._do(effect)
            except GeneratorExit:
                raise
            except BaseException as error:
                failure = error


def _copied(request: httpx.Request, body: bytes) -> httpx.Request:
    """Returns a copy, so that the token is not in the headers from which httpx makes the request of a redirect."""
    return httpx.Request(request.method, request.url, headers=request.headers, content=body or None, extensions=request.extensions)


class UimTransport(httpx.BaseTransport):
    """A transport of httpx.Client for one service, below redirects. The inner one checks addresses, unless you give another."""

    def __init__(
        self,
        client: UimClient,
        inner: httpx.BaseTransport | None = None,
        *,
        budget: Budget | str | None = None,
        approve: Approve | None = None,
    ) -> None:
        self._client, self._gate = client, _Gate(client, budget, approve)
        self._inner = inner or GuardedTransport(allow_insecure=client._settings.allow_insecure)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = request.read()
        response: httpx.Response = drive(self._gate.flow(_copied(request, body), body), self._do)
        return response

    def _do(self, effect: Effect) -> Any:
        if not isinstance(effect, _Transmit):
            return self._client._driver._do(effect)
        response = self._inner.handle_request(effect.request)
        if effect.reads and _readable(response):
            response.read()
        return response

    def close(self) -> None:
        self._inner.close()


class AsyncUimTransport(httpx.AsyncBaseTransport):
    """The same for httpx.AsyncClient, such as the one of the MCP client."""

    def __init__(
        self,
        client: AsyncUimClient,
        inner: httpx.AsyncBaseTransport | None = None,
        *,
        budget: Budget | str | None = None,
        approve: Approve | None = None,
    ) -> None:
        self._client, self._gate = client, _Gate(client, budget, approve)
        self._inner = inner or AsyncGuardedTransport(allow_insecure=client._settings.allow_insecure)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        response: httpx.Response = await drive_async(self._gate.flow(_copied(request, body), body), self._do)
        return response

    async def _do(self, effect: Effect) -> Any:
        if not isinstance(effect, _Transmit):
            return await self._client._driver._do(effect)
        response = await self._inner.handle_async_request(effect.request)
        if effect.reads and _readable(response):
            await response.aread()
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()
