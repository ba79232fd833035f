"""Finds services: reads targets and agents.json, and looks up the TXT records of a domain by DNS over HTTPS (RFC 8484)."""

from __future__ import annotations

import ipaddress
import re
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from ._answers import Answer, clean
from ._errors import DiscoveryError, JsonError, OptionsError
from ._json import decode_object
from ._network import is_loopback

_MAX_TARGET = 2048
_MAX_INTENTS = 100_000
_MAX_RECORDS = 64
MAX_DNS = 64 << 10


@dataclass(frozen=True)
class Target:
    """Identifies a service: the URLs at which its agents.json may be, and the domain whose records are looked up first ("" if none)."""

    urls: tuple[str, ...]
    domain: str = ""


def parse_target(text: str) -> Target:
    """Reads the URL of an agents.json, an origin, or a domain. Without a scheme, a loopback address means http, and any other host
    https."""
    wrong = OptionsError("a service is named by a domain, by an origin such as https://shop.example, or by the URL of its agents.json")
    text = text.strip()
    if not text or len(text) > _MAX_TARGET or any(c <= " " or c == "\x7f" for c in text):
        raise wrong
    bare = "://" not in text
    if bare:
        text = "https://" + (f"[{text}]" if _is_ipv6(text) else text)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
    except (ValueError, UnicodeError):
        raise wrong from None
    if not host or "#" in text or parts.scheme not in ("https", "http"):
        raise wrong
    if "@" in parts.netloc:
        raise OptionsError("the name of a service must not have a user name or password")
    loopback = is_loopback(host)
    where = (f"[{host}]" if ":" in host else host) + (f":{port}" if port is not None else "")
    scheme = "http" if bare and loopback else parts.scheme
    if parts.path.endswith(".json"):
        return Target((urlunsplit((scheme, where, parts.path, parts.query, "")),))
    if parts.query:
        raise OptionsError("an origin must not have a query")
    base = urlunsplit((scheme, where, parts.path.rstrip("/"), "", ""))
    named = bare and not loopback and port is None and not parts.path.strip("/") and not _is_ip(host)
    return Target((f"{base}/agents.json", f"{base}/.well-known/agents.json"), host.rstrip(".") if named else "")


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_ipv6(host: str) -> bool:
    return ":" in host and _is_ip(host)


@dataclass(frozen=True)
class Intent:
    """An operation that a service offers. parameters and outputs are the lists in agents.json. price is only informative; the policy is
    binding."""

    uid: str
    name: str
    description: str
    safe: bool
    price: str
    timeout: int
    parameters: tuple[dict[str, Any], ...] = field(repr=False)
    outputs: tuple[dict[str, Any], ...] = field(repr=False)

    def schema(self) -> dict[str, Any]:
        """Returns the JSON Schema of the parameters, as an object."""
        properties = {}
        for p in self.parameters:
            properties[p["name"]] = {k: v for k, v in p.items() if k not in ("name", "required")}
        required = [p["name"] for p in self.parameters if p.get("required") is True]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


@dataclass
class Catalog:
    """An agents.json."""

    url: str
    issuer: str
    intents: dict[str, Intent]
    endpoints: dict[str, str]

    @classmethod
    def read(cls, answer: Answer) -> Catalog:
        """Reads an agents.json of this protocol."""
        try:
            tree = decode_object(answer.body)
        except JsonError as error:
            raise DiscoveryError(f"{answer.url} is not an agents.json: {error}") from None
        listed = tree.get("intents")
        if not isinstance(listed, list) or len(listed) > _MAX_INTENTS:
            raise DiscoveryError(f"{answer.url} is not an agents.json: want a list intents of at most {_MAX_INTENTS}")
        intents = {i.uid: i for i in map(_intent, listed) if i is not None}
        endpoints = {
            name: urljoin(answer.url, value)
            for name, value in tree.items()
            if name.startswith("uim-") and isinstance(value, str) and value and name not in ("uim-issuer", "uim-license")
        }
        base = re.sub(r"(/\.well-known)?/agents\.json$", "", answer.url.partition("?")[0])
        for name, path in _PATHS.items():
            endpoints.setdefault(name, f"{base}/{path}")
        named = tree.get("uim-issuer")
        first = next((uid.partition(":")[0] for uid in intents), urlsplit(answer.url).hostname or "")
        return cls(answer.url, named if isinstance(named, str) and 0 < len(named) <= 512 else first, intents, endpoints)


_PATHS = {
    "uim-policy-file": "api/policy",
    "uim-pat-issue": "api/pat/issue",
    "uim-pat-renew": "api/pat/renew",
    "uim-pat-revoke": "api/pat/revoke",
    "uim-api-execute": "api/intents/execute",
    "uim-jwks": ".well-known/jwks.json",
}


def _intent(item: object) -> Intent | None:
    if not isinstance(item, dict) or not isinstance(item.get("intent_uid"), str) or len(item["intent_uid"]) > 512:
        return None
    endpoint = item.get("endpoint")
    method = endpoint.get("method") if isinstance(endpoint, dict) else None
    safe = item["safe"] if isinstance(item.get("safe"), bool) else method in ("GET", "HEAD")
    timeout = item.get("x-timeout")
    price = item.get("price")
    return Intent(
        item["intent_uid"],
        clean(item.get("intent_name")),
        clean(item.get("description")),
        safe,
        price if isinstance(price, str) else "",
        min(timeout, 3600) if isinstance(timeout, int) and not isinstance(timeout, bool) and timeout > 0 else 10,
        _named(item.get("input_parameters")),
        _named(item.get("output_parameters")),
    )


def _named(value: object) -> tuple[dict[str, Any], ...]:
    return tuple(p for p in value if isinstance(p, dict) and isinstance(p.get("name"), str)) if isinstance(value, list) else ()


def speaks_for(host: str, name: str) -> bool:
    """Reports whether a host may use a name: its own, or that of a subdomain."""
    host, name = host.lower().rstrip("."), name.lower().rstrip(".")
    return host != "" and (name == host or name.endswith("." + host))


def issuer_host(issuer: str) -> str:
    """Returns the host of an issuer, which is a domain or a URL; "" if it is neither."""
    try:
        parts = urlsplit(issuer if "://" in issuer else "//" + issuer)
        return "" if parts.username is not None else (parts.hostname or "").rstrip(".")
    except ValueError:
        return ""


def txt_query(name: str) -> bytes:
    """Returns a query for the TXT records of a name, for a POST of application/dns-message."""
    labels = name.rstrip(".").encode("ascii").split(b".")
    if any(not 0 < len(label) < 64 for label in labels) or len(name) > 253:
        raise OptionsError("the domain is not valid")
    question = b"".join(bytes([len(label)]) + label for label in labels) + b"\0" + b"\0\x10\0\x01"
    return secrets.token_bytes(2) + b"\x01\0\0\x01\0\0\0\0\0\0" + question


def txt_records(message: bytes) -> list[str]:
    """Returns the TXT records of a response. It does not follow aliases, because the server does. Anything malformed is a
    DiscoveryError."""
    try:
        questions, answers = int.from_bytes(message[4:6], "big"), int.from_bytes(message[6:8], "big")
        code = message[3] & 0x0F
        if code == 3:  # there is no such name
            return []
        if code != 0 or len(message) < 12:
            raise DiscoveryError(f"the DNS server responded with the code {code}")
        at, found = 12, []
        for _ in range(questions):
            at = _skip_name(message, at) + 4
        for _ in range(min(answers, _MAX_RECORDS)):
            at = _skip_name(message, at)
            kind, size = int.from_bytes(message[at : at + 2], "big"), int.from_bytes(message[at + 8 : at + 10], "big")
            data = message[at + 10 : at + 10 + size]
            if len(data) != size:
                raise IndexError
            at += 10 + size
            if kind == 16:
                found.append(_strings(data).decode("ascii", "replace"))
        return found
    except IndexError:
        raise DiscoveryError("the response of the DNS server is malformed") from None


def _skip_name(message: bytes, at: int) -> int:
    while True:
        length = message[at]
        if length >= 0xC0:
            return at + 2
        if length == 0:
            return at + 1
        at += 1 + length


def _strings(data: bytes) -> bytes:
    out, at = b"", 0
    while at < len(data):
        out += data[at + 1 : at + 1 + data[at]]
        at += 1 + data[at]
    return out


def agents_urls(records: list[str], key: str) -> list[str]:
    """Returns the URLs in the records with a key, uim-agents or uim-agents-file."""
    urls = []
    for record in records:
        name, found, value = record.partition("=")
        value = value.strip(" \t")
        if found and name.strip(" \t").lower() == key and 0 < len(value) <= 2048 and re.fullmatch(r"https?://[!-~]+", value):
            urls.append(value)
    return urls
