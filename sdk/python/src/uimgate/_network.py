"""Sends requests to services that are not trusted. It limits the addresses, the size of responses and the time."""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from ._answers import Answer
from ._errors import AddressError, NetworkError, OptionsError

MAX_REDIRECTS = 3
_CONNECT = 10.0  # seconds

# The addresses that are not on the public internet: the IANA registries of special purposes (RFC 6890), ranges that only embed other
# addresses, and 168.63.129.16, at which Azure offers services to its own machines.
_SPECIAL = [
    ipaddress.ip_network(n)
    for n in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
        "2620:4f:8000::/48",
        "168.63.129.16/32",
    )
]
_GLOBAL = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(text: str) -> bool:
    """Reports whether an address is on the public internet. An IPv4 address that is embedded in IPv6 counts as the IPv4 address."""
    try:
        address: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if getattr(address, "scope_id", None):
            return False
        if address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        elif address in _NAT64:
            address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        elif address not in _GLOBAL:
            return False
    return not any(address in network for network in _SPECIAL if network.version == address.version)


def is_loopback(host: str) -> bool:
    """Reports whether a host is the local machine: localhost (RFC 6761 6.3), or a loopback address."""
    host = host.lower().rstrip(".").strip("[]")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def origin_of(url: str) -> str:
    """Returns scheme, host and port of a URL, without the default port (RFC 6454 6.2)."""
    parts = urlsplit(url)
    host, port = (parts.hostname or "").lower(), parts.port
    host = f"[{host}]" if ":" in host else host
    if port is None or (parts.scheme.lower(), port) in (("https", 443), ("http", 80)):
        return f"{parts.scheme.lower()}://{host}"
    return f"{parts.scheme.lower()}://{host}:{port}"


def check_url(url: str, named_by: str | None, insecure: bool) -> None:
    """Raises an AddressError if a URL must not be used. named_by is the URL of the document that contains the URL; None means that the
    caller named it."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise AddressError("refused: the URL cannot be parsed") from None
    if parts.scheme not in ("https", "http") or not host:
        raise AddressError("refused: only http and https URLs with a host are supported")
    if any(c <= " " or c >= "\x7f" for c in url) or parts.username is not None or parts.password is not None:
        raise AddressError("refused: the URL has a user name, a password, or characters that are not ASCII")
    if insecure:
        return
    if is_loopback(host):
        if named_by is not None and not is_loopback(urlsplit(named_by).hostname or ""):
            raise AddressError(f"refused: {origin_of(named_by)} refers to the loopback address")
        return
    if parts.scheme != "https":
        raise AddressError(f"refused: {origin_of(url)} is not https")
    if _is_address(host) and not is_public(host):
        raise AddressError(f"refused: {host} is not an address of the public internet")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _allowed(host: str, found: list[Any], insecure: bool) -> str:
    """Returns the address to connect to. Every address of the name must be allowed."""
    addresses = [str(item[4][0]) for item in found]
    fits = (lambda _: True) if insecure else is_loopback if is_loopback(host) else is_public
    if not addresses or not all(fits(address) for address in addresses):
        raise AddressError(f"refused: {host} has an address that is not on the public internet")
    return addresses[0]


class _Backend:
    """Wraps a network backend of httpcore: it connects only to addresses that are allowed. It resolves the name once, for both the check
    and the connection."""

    def __init__(self, inner: Any, insecure: bool) -> None:
        self._inner, self._insecure = inner, insecure

    def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> Any:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpx.ConnectError(f"the name {host} was not found: {error.strerror}") from None
        return self._inner.connect_tcp(_allowed(host, found, self._insecure), port, *args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _AsyncBackend(_Backend):
    async def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> Any:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpx.ConnectError(f"the name {host} was not found: {error.strerror}") from None
        return await self._inner.connect_tcp(_allowed(host, found, self._insecure), port, *args, **options)


def _guard(transport: Any, backend: type[_Backend], insecure: bool) -> None:
    pool = getattr(transport, "_pool", None)
    if pool is None or not hasattr(pool, "_network_backend"):
        raise OptionsError("this version of httpx is not known to connect through this package's check of addresses: pass a transport")
    pool._network_backend = backend(pool._network_backend, insecure)


@functools.lru_cache(maxsize=None)
def _tls() -> ssl.SSLContext:
    """Returns the settings of TLS that all transports share: reading the trusted certificates takes longer than a request."""
    return httpx.create_ssl_context(trust_env=False)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    return {"verify": _tls(), "trust_env": False, **given}


class GuardedTransport(httpx.HTTPTransport):
    """A transport of httpx that reaches only the public internet, and the loopback address if the URL names it."""

    def __init__(self, *, allow_insecure: bool = False, **options: Any) -> None:
        super().__init__(**_options(options))
        _guard(self, _Backend, allow_insecure)


class AsyncGuardedTransport(httpx.AsyncHTTPTransport):
    """The same for httpx.AsyncClient, on asyncio."""

    def __init__(self, *, allow_insecure: bool = False, **options: Any) -> None:
        super().__init__(**_options(options))
        _guard(self, _AsyncBackend, allow_insecure)


@dataclass
class Exchange:
    """One request. If follow is true, redirects are followed; it is never true for requests with a token or a signature."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    most: int = 1 << 20
    timeout: float = 30.0
    follow: bool = False
    named_by: str | None = None


def _steps(exchange: Exchange, insecure: bool, answer: Answer | None) -> str | None:
    """Returns the URL of the next request of an exchange, or None if the answer is the last one."""
    if answer is None:
        check_url(exchange.url, exchange.named_by, insecure)
        return exchange.url
    target = answer.headers.get("Location")
    if not exchange.follow or answer.status not in (301, 302, 303, 307, 308) or target is None:
        return None
    url = urljoin(answer.url, target)
    check_url(url, answer.url, insecure)
    return url


def _failure(error: Exception, url: str) -> NetworkError:
    sent = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.ProxyError))
    why = (
        "it took too long"
        if isinstance(error, httpx.TimeoutException)
        else "".join(c if " " <= c <= "~" else "?" for c in str(error))[:400]
    )
    return NetworkError(f"request to {origin_of(url)} failed: {why or type(error).__name__}", sent)


class _Body:
    """Collects a body within limits of size and time."""

    def __init__(self, exchange: Exchange, response: httpx.Response, end: float) -> None:
        self._parts: list[bytes] = []
        self._size, self._most, self._end, self._url = 0, exchange.most, end, exchange.url
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise NetworkError(f"request to {origin_of(exchange.url)} failed: the response has an encoding that was not requested", True)

    def add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._most:
            raise NetworkError(f"request to {origin_of(self._url)} failed: the response is larger than {self._most} bytes", True)
        if time.monotonic() > self._end:
            raise NetworkError(f"request to {origin_of(self._url)} failed: it took too long", True)
        self._parts.append(part)

    def bytes(self) -> bytes:
        return b"".join(self._parts)


def _request_headers(exchange: Exchange) -> dict[str, str]:
    return {"User-Agent": "uimgate-python", "Accept-Encoding": "identity", **exchange.headers}


Observe = Callable[[Answer], None]


class Exchanger:
    """Makes exchanges with httpx.Client."""

    def __init__(self, transport: httpx.BaseTransport | None, insecure: bool) -> None:
        self._insecure = insecure
        self.client = httpx.Client(
            transport=transport or GuardedTransport(allow_insecure=insecure), trust_env=False, follow_redirects=False
        )

    def run(self, exchange: Exchange) -> Answer:
        answer: Answer | None = None
        for _ in range(MAX_REDIRECTS + 2):
            url = _steps(exchange, self._insecure, answer)
            if url is None and answer is not None:
                return answer
            answer = self._one(exchange, url or exchange.url)
        raise AddressError(f"refused: more than {MAX_REDIRECTS} redirects")

    def _one(self, exchange: Exchange, url: str) -> Answer:
        end = time.monotonic() + exchange.timeout
        timeout = httpx.Timeout(exchange.timeout, connect=min(_CONNECT, exchange.timeout))
        try:
            with self.client.stream(
                exchange.method, url, headers=_request_headers(exchange), content=exchange.body or None, timeout=timeout
            ) as response:
                body = _Body(exchange, response, end)
                for part in response.iter_raw():
                    body.add(part)
                return Answer(response.status_code, response.headers, body.bytes(), url)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise _failure(error, url) from None


class AsyncExchanger:
    """Makes exchanges with httpx.AsyncClient."""

    def __init__(self, transport: httpx.AsyncBaseTransport | None, insecure: bool) -> None:
        self._insecure = insecure
        inner = transport or AsyncGuardedTransport(allow_insecure=insecure)
        self.client = httpx.AsyncClient(transport=inner, trust_env=False, follow_redirects=False)

    async def run(self, exchange: Exchange) -> Answer:
        answer: Answer | None = None
        for _ in range(MAX_REDIRECTS + 2):
            url = _steps(exchange, self._insecure, answer)
            if url is None and answer is not None:
                return answer
            answer = await self._one(exchange, url or exchange.url)
        raise AddressError(f"refused: more than {MAX_REDIRECTS} redirects")

    async def _one(self, exchange: Exchange, url: str) -> Answer:
        end = time.monotonic() + exchange.timeout
        timeout = httpx.Timeout(exchange.timeout, connect=min(_CONNECT, exchange.timeout))
        try:
            async with self.client.stream(
                exchange.method, url, headers=_request_headers(exchange), content=exchange.body or None, timeout=timeout
            ) as response:
                body = _Body(exchange, response, end)
                async for part in response.aiter_raw():
                    body.add(part)
                return Answer(response.status_code, response.headers, body.bytes(), url)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise _failure(error, url) from None
