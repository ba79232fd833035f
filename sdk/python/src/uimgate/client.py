"""The clients: UimClient blocks, AsyncUimClient is for asyncio. Both run the same flows."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections import defaultdict
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from ._agreements import Agreements
from ._answers import Answer, is_json, media_type
from ._calls import CallsFile, Unfinished
from ._discovery import MAX_DNS, Catalog, Intent, Target, agents_urls, issuer_host, parse_target, speaks_for, txt_query, txt_records
from ._drive import drive, drive_async
from ._errors import AddressError, DiscoveryError, NetworkError, OptionsError
from ._execute import Executor, Options, Result
from ._network import AsyncExchanger, Exchange, Exchanger
from ._policy import Policy, Price
from ._session import Agreement
from ._settings import Accept, Acquire, Ask, Flow, Settings, Sleep, Work, settings_of
from ._spending import Spending

_MAX_DOCUMENT = 16 << 20
_MAX_LOCATED = 4

_C = TypeVar("_C", bound="_Base")


class _Base:
    """The common parts of both clients."""

    def __init__(self, settings: Settings, catalog: Catalog, target: Target) -> None:
        self._settings = settings
        self._agreements = Agreements(settings, catalog, target)
        directory, key = settings.directory, settings.key
        host = (urlsplit(catalog.url).hostname or "").replace(":", "_")
        file = CallsFile(directory / f"{host}-{key.thumbprint[:12]}.calls.python.json") if directory and key else None
        self._executor = Executor(self._agreements, Spending(file))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.agent_id} at {self.issuer}>"

    @property
    def issuer(self) -> str:
        """The name of the service in agreements."""
        return self._agreements.catalog.issuer

    @property
    def agent_id(self) -> str:
        """The name of the agent."""
        return self._settings.agent_id

    @property
    def endpoints(self) -> dict[str, str]:
        """The URLs of the service, by their names in agents.json, such as uim-mcp."""
        return dict(self._agreements.catalog.endpoints)

    @property
    def intents(self) -> list[Intent]:
        """The intents that the service offers."""
        return list(self._agreements.catalog.intents.values())

    @property
    def agreement(self) -> Agreement | None:
        """The agreement, or None."""
        session = self._agreements.session
        return session.agreement if session else None

    def price_of(self, intent: str) -> Price:
        """Returns the price of a call under the agreed policy, or the highest charge so far if that is more."""
        return self._executor.price_of(intent)


def _discovery(settings: Settings, target: Target) -> Flow:
    """Finds the agents.json of a service."""
    failures: list[str] = []
    located: list[str] = []
    if target.domain and settings.doh:
        try:
            located = yield from _locate(settings, target.domain)
        except (DiscoveryError, NetworkError, AddressError, OptionsError) as error:
            failures.append(f"DNS records of {target.domain}: {error}")
    for number, url in enumerate([*located, *target.urls]):
        by_dns = number < len(located)
        exchange = Exchange(
            "GET",
            url,
            {"Accept": "application/json"},
            most=_MAX_DOCUMENT,
            timeout=settings.timeout or 30.0,
            follow=True,
            named_by=target.urls[0] if by_dns else None,
        )
        try:
            answer: Answer = yield exchange
            if answer.status != 200 or not is_json(media_type(answer.headers)):
                raise DiscoveryError(f"{url} responded with {answer.status} and not with JSON")
            catalog = Catalog.read(answer)
            if by_dns and not settings.allow_insecure:
                _check_names(catalog, target.domain)
        except (DiscoveryError, NetworkError, AddressError) as error:
            failures.append(str(error))
            continue
        settings.clock.observe(answer)
        return catalog
    raise DiscoveryError("no agents.json was found: " + "; ".join(failures))


def _locate(settings: Settings, domain: str) -> Flow:
    """Returns the URLs that the TXT records of a domain name, best first."""
    urls: list[str] = []
    for name, key in ((f"_uim.{domain}", "uim-agents"), (domain, "uim-agents-file")):
        answer: Answer = yield Exchange(
            "POST",
            settings.doh or "",
            {"Content-Type": "application/dns-message", "Accept": "application/dns-message"},
            txt_query(name),
            MAX_DNS,
            10.0,
        )
        if answer.status != 200 or media_type(answer.headers) != "application/dns-message":
            raise DiscoveryError(f"the DNS server responded with {answer.status}")
        urls += [url for url in agents_urls(txt_records(answer.body), key) if url not in urls]
    return urls[:_MAX_LOCATED]


def _check_names(catalog: Catalog, domain: str) -> None:
    """Checks that the file to which the DNS records of a domain point uses only names of that domain."""
    for name in [catalog.issuer, *(uid.partition(":")[0] for uid in catalog.intents)]:
        if not speaks_for(domain, issuer_host(name)):
            raise DiscoveryError(
                f"the DNS records of {domain} point to an agents.json that uses the name {name[:100]}, which is not of that domain"
            )


class UimClient(_Base):
    """A client of one service. Several threads may use it at the same time."""

    def __init__(self, settings: Settings, catalog: Catalog, target: Target, exchanger: Exchanger) -> None:
        super().__init__(settings, catalog, target)
        self._driver = _Driver(exchanger)

    @classmethod
    def discover(cls: type[_C], target: str, *, transport: httpx.BaseTransport | None = None, **options: Any) -> _C:
        """Finds a service by its domain, its origin, or the URL of its agents.json.

        Options: key (a Key; without one, the client can only read), agent_id, budget (a Budget), approve (a function of a Call and
        a Price), directory (stores the session, and the calls that have not ended, for the next process), receipts (the directory
        for receipts of charges, in the form that `uimgate agent receipts` reads), doh (the server for DNS over HTTPS; None: domains
        are not looked up), allow_insecure (http and private addresses, for tests), timeout in seconds, max_attempts, max_wait in
        seconds, max_answer in bytes, now and on_warning. A transport of your own replaces the check of addresses."""
        settings, at = settings_of(**options), parse_target(target)
        driver = _Driver(Exchanger(transport, settings.allow_insecure))
        try:
            catalog = driver.run(_discovery(settings, at))
            client = cls(settings, catalog, at, driver.exchanger)  # type: ignore[call-arg]
            driver.run(client._agreements.load())
        except BaseException:
            driver.exchanger.client.close()
            raise
        return client

    def __enter__(self) -> UimClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes idle connections."""
        self._driver.exchanger.client.close()

    def policy(self, digest: str | None = None) -> Policy:
        """Fetches the policy in force or, with a digest, the one that is announced under that digest."""
        policy: Policy = self._driver.run(self._agreements.policy(digest, explain=True))
        return policy

    def agree(
        self,
        accept: str | Accept,
        *,
        scope: list[str] | None = None,
        declared: dict[str, list[str]] | None = None,
        issuer: str | None = None,
        on_date: bool = False,
        plan: str | None = None,
    ) -> Agreement:
        """Signs the policy that the caller accepts: by the digest of the one that was read, or by a function that decides. It signs no
        other.

        scope limits the agreement to some intents, declared is what the policy requires the agent to declare, issuer accepts a name that
        the address of the service does not vouch for, and on_date lets an announced policy take effect on its date. plan chooses a plan of
        the policy; an agreement with another plan ends the earlier one."""
        agreement: Agreement = self._driver.run(self._agreements.agree(accept, scope, declared, issuer, on_date, plan))
        self._executor.spending.reset()
        return agreement

    def execute(self, intent: str, parameters: dict[str, Any] | None = None, **options: Any) -> Result[Any]:
        """Calls an intent. It renews the token if that is due, and retries the call if it cannot be executed or charged twice.

        Options: idempotency_key (chosen before the first attempt, and kept with the task), budget (a Budget, or the maximum price of
        this call, such as "0.10 EUR"), approve, prove, request_id, traceparent, and timeout in seconds of one attempt."""
        result: Result[Any] = self._driver.run(self._executor.execute(intent, parameters, Options(**options)))
        return result

    def renew(self) -> Agreement:
        """Gets a new token under the same agreement. execute does this when the token is about to expire."""
        agreement: Agreement = self._driver.run(self._agreements.renew(self._agreements.must()))
        return agreement

    def revoke(self) -> None:
        """Ends the token and all its renewals."""
        self._driver.run(self._agreements.revoke())

    def unfinished(self) -> list[Unfinished]:
        """Returns the calls of this agent that were sent and whose outcome is unknown. It needs the option directory."""
        file = self._executor.spending.file
        return file.all() if file else []


class AsyncUimClient(_Base):
    """The same for asyncio. Callbacks may be coroutine functions."""

    def __init__(self, settings: Settings, catalog: Catalog, target: Target, exchanger: AsyncExchanger) -> None:
        super().__init__(settings, catalog, target)
        self._driver = _AsyncDriver(exchanger)

    @classmethod
    async def discover(cls: type[_C], target: str, *, transport: httpx.AsyncBaseTransport | None = None, **options: Any) -> _C:
        """Finds a service. See UimClient.discover."""
        settings, at = settings_of(**options), parse_target(target)
        driver = _AsyncDriver(AsyncExchanger(transport, settings.allow_insecure))
        try:
            catalog = await driver.run(_discovery(settings, at))
            client = cls(settings, catalog, at, driver.exchanger)  # type: ignore[call-arg]
            await driver.run(client._agreements.load())
        except BaseException:
            await driver.exchanger.client.aclose()
            raise
        return client

    async def __aenter__(self) -> AsyncUimClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes idle connections."""
        await self._driver.exchanger.client.aclose()

    async def policy(self, digest: str | None = None) -> Policy:
        """Fetches the policy. See UimClient.policy."""
        policy: Policy = await self._driver.run(self._agreements.policy(digest, explain=True))
        return policy

    async def agree(
        self,
        accept: str | Accept,
        *,
        scope: list[str] | None = None,
        declared: dict[str, list[str]] | None = None,
        issuer: str | None = None,
        on_date: bool = False,
        plan: str | None = None,
    ) -> Agreement:
        """Signs the policy that the caller accepts. See UimClient.agree."""
        agreement: Agreement = await self._driver.run(self._agreements.agree(accept, scope, declared, issuer, on_date, plan))
        self._executor.spending.reset()
        return agreement

    async def execute(self, intent: str, parameters: dict[str, Any] | None = None, **options: Any) -> Result[Any]:
        """Calls an intent. See UimClient.execute."""
        result: Result[Any] = await self._driver.run(self._executor.execute(intent, parameters, Options(**options)))
        return result

    async def renew(self) -> Agreement:
        """Gets a new token of the same agreement."""
        agreement: Agreement = await self._driver.run(self._agreements.renew(self._agreements.must()))
        return agreement

    async def revoke(self) -> None:
        """Ends the token and all its renewals."""
        await self._driver.run(self._agreements.revoke())

    async def unfinished(self) -> list[Unfinished]:
        """Returns the calls whose outcome is unknown. See UimClient.unfinished."""
        file = self._executor.spending.file
        return await asyncio.to_thread(file.all) if file else []


class _Driver:
    """Runs flows with blocking calls."""

    def __init__(self, exchanger: Exchanger) -> None:
        self.exchanger = exchanger
        self._locks: dict[str, threading.Lock] = defaultdict(threading.Lock)

    def run(self, flow: Flow) -> Any:
        return drive(flow, self._do)

    def _do(self, effect: Any) -> Any:
        if isinstance(effect, Exchange):
            return self.exchanger.run(effect)
        if isinstance(effect, Sleep):
            return time.sleep(effect.seconds)
        if isinstance(effect, Work):
            return effect.function()
        if isinstance(effect, Ask):
            decision = effect.function(*effect.arguments)
            if inspect.isawaitable(decision):
                if inspect.iscoroutine(decision):
                    decision.close()
                raise OptionsError("a coroutine function decides only for an AsyncUimClient")
            return decision
        if isinstance(effect, Acquire):
            lock = self._locks[effect.lock]
            lock.acquire()
            return lock
        raise TypeError(effect)


class _AsyncDriver:
    """Runs flows on asyncio."""

    def __init__(self, exchanger: AsyncExchanger) -> None:
        self.exchanger = exchanger
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(self, flow: Flow) -> Any:
        return await drive_async(flow, self._do)

    async def _do(self, effect: Any) -> Any:
        if isinstance(effect, Exchange):
            return await self.exchanger.run(effect)
        if isinstance(effect, Sleep):
            return await asyncio.sleep(effect.seconds)
        if isinstance(effect, Work):
            return await asyncio.to_thread(effect.function)
        if isinstance(effect, Ask):
            decision = effect.function(*effect.arguments)
            return await decision if inspect.isawaitable(decision) else decision
        if isinstance(effect, Acquire):
            lock = self._locks[effect.lock]
            await lock.acquire()
            return lock
        raise TypeError(effect)
