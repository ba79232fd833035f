"""Parses responses of services, which are not trusted."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import httpx

from ._errors import JsonError, Refusal, ResponseError, Violation, refusal_error
from ._json import canonical, decode
from ._money import Amount, read_amount

_MAX_TEXT = 500
_MAX_ITEMS = 64
_MAX_CHANGES = 20
_MAX_HEADER = 8 << 10
_MAX_ERROR = 256 << 10
_YEAR = 365 * 24 * 3600
_NAME = re.compile(r"[A-Za-z0-9_-]{0,64}")
_ID = re.compile(r"[A-Za-z0-9._-]{0,64}")
_UID = re.compile(r"[^\s:]{1,253}:[^\s:]{1,128}:[^\s:]{1,64}")
_LINK = re.compile(r'<([^<>]*)>\s*;\s*rel="?successor-version"?')
_DIGEST = re.compile(r"sha-256:[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class Answer:
    """A complete response."""

    status: int
    headers: httpx.Headers
    body: bytes
    url: str = ""


@dataclass(frozen=True)
class Charge:
    """The price of one call, as the service states it. state is captured, released or pending. Count each id once."""

    amount: Amount
    id: str
    state: str


@dataclass(frozen=True)
class RateLimit:
    """The limit that has the fewest calls left: limit calls in a period (0: not stated), remaining, and seconds until reset (0: not
    stated)."""

    limit: int
    remaining: int
    reset: int


@dataclass(frozen=True)
class Sunset:
    """When an intent ends, in seconds since 1970 (RFC 8594). If terms is true, only its terms end, and the intent continues under new
    ones. replaced_by is the UID of the intent that replaces this one, and next_policy the digest of the policy with the new terms, for
    policy() and agree(); "" means that the service names none."""

    at: int
    terms: bool
    replaced_by: str = ""
    next_policy: str = ""


@dataclass
class Parsed:
    """A response to a call. raw is the output as JSON."""

    output: Any
    raw: bytes
    status: int
    charge: Charge | None = None
    rate_limit: RateLimit | None = None
    request_id: str = ""
    replayed: bool = False
    sunset: Sunset | None = None
    receipts: tuple[str, ...] = field(default=())


def clean(value: object) -> str:
    """Returns a string from a service on one line, without control characters, of at most 500 characters."""
    if not isinstance(value, str):
        return ""
    kept = "".join(" " if c.isspace() or unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs") else c for c in value[: 8 * _MAX_TEXT])
    text = " ".join(kept.split())
    return text[:_MAX_TEXT] + "…" if len(text) > _MAX_TEXT else text


def name_of(value: object) -> str:
    """Returns a code of a service; empty if it is not one."""
    return value if isinstance(value, str) and _NAME.fullmatch(value) else ""


def identifier(value: object) -> str:
    """Returns an id of a service; empty if it is not one."""
    return value if isinstance(value, str) and _ID.fullmatch(value) else ""


def is_digest(value: object) -> bool:
    """Reports whether a value is the digest of a policy."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def media_type(headers: httpx.Headers) -> str:
    """Returns the media type of a response in lowercase."""
    return str(headers.get("Content-Type", "")).partition(";")[0].strip().lower()


def is_json(kind: str) -> bool:
    """Reports whether a body of this type may be JSON: static hosts send JSON files also as text."""
    plain = ("", "application/json", "text/json", "text/plain", "application/octet-stream", "binary/octet-stream")
    return kind in plain or (kind.startswith("application/") and kind.endswith("+json"))


def whole(value: object, most: int = _YEAR) -> int | None:
    """Returns a whole number from 0 to most, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most else None


def http_time(text: str) -> int | None:
    """Reads a time of HTTP, in seconds since 1970."""
    try:
        at = parsedate_to_datetime(text)
        return int((at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def read_time(text: object) -> float | None:
    """Reads a time in RFC 3339, where one without a zone is in UTC."""
    if not isinstance(text, str):
        return None
    try:
        at = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
        return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError):
        return None


def retry_after(headers: httpx.Headers) -> int | None:
    """Returns the seconds that a service asks its clients to wait (RFC 9110 10.2.3)."""
    text = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]{1,18}", text):
        return min(int(text), _YEAR)
    at, now = http_time(text), http_time(headers.get("Date", ""))
    return None if at is None or now is None else min(max(0, at - now), _YEAR)


def parse_charge(text: str) -> Charge | None:
    """Reads UIM-Charge: 0.05 EUR; id=…; state=captured."""
    if len(text) > _MAX_HEADER:
        return None
    amount, *parameters = text.split(";")
    number, _, currency = amount.strip().partition(" ")
    members = dict(p.strip().partition("=")[::2] for p in parameters)
    return _charge(read_amount(number, currency.strip()), members.get("id"), members.get("state"))


def charge_of(value: object) -> Charge | None:
    """Reads a charge in a body."""
    if not isinstance(value, dict):
        return None
    return _charge(read_amount(value.get("amount"), value.get("currency")), value.get("id"), value.get("state"))


def _charge(amount: Amount | None, execution: object, state: object) -> Charge | None:
    if amount is None or not identifier(execution) or state not in ("captured", "released", "pending"):
        return None
    return Charge(amount, str(execution), str(state))


_BARE = (
    r"-?[0-9]{1,15}(?:\.[0-9]{1,3})?|\"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\"\\])*\""
    r"|[A-Za-z*][A-Za-z0-9:/!#$%&'*+.^_`|~-]*|:[A-Za-z0-9+/=]*:|\?[01]"
)
_ITEM = re.compile(rf" *({_BARE})((?:; *[a-z*][a-z0-9_.*-]*(?:=(?:{_BARE}))?)*)[ \t]*(,|$)")
_PARAMETER = re.compile(rf"; *([a-z*][a-z0-9_.*-]*)(?:=({_BARE}))?")


def _items(text: str) -> list[tuple[str, dict[str, str]]]:
    """Reads a list of items with parameters (RFC 9651 4.2.1); empty if it is not one."""
    found: list[tuple[str, dict[str, str]]] = []
    at = 0
    while text and len(text) <= _MAX_HEADER:
        item = _ITEM.match(text, at)
        if item is None or len(found) >= _MAX_ITEMS:
            return []
        found.append((item[1].strip('"'), {p[1]: p[2] or "?1" for p in _PARAMETER.finditer(item[2])}))
        at = item.end()
        if item[3] == "":
            return found
        if not text[at:].strip(" \t"):
            return []
    return []


def _count(text: str | None) -> int | None:
    found = re.match(r"\s*([0-9]{1,18})\s*(?:[;,]|$)", text or "")
    return int(found[1]) if found else None


def parse_rate_limit(headers: httpx.Headers) -> RateLimit | None:
    """Reads RateLimit and RateLimit-Policy, or the three separate fields of earlier drafts."""
    least: tuple[str, int, int] | None = None
    for name, parameters in _items(headers.get("RateLimit", "")):
        left = parameters.get("r", "")
        if not re.fullmatch(r"[0-9]+", left) or (least is not None and int(left) >= least[1]):
            continue
        reset = parameters.get("t", "")
        least = (name, int(left), min(int(reset), _YEAR) if re.fullmatch(r"[0-9]+", reset) else 0)
    if least is not None:
        quotas = [p.get("q", "") for name, p in _items(headers.get("RateLimit-Policy", "")) if name == least[0]]
        limit = int(quotas[-1]) if quotas and re.fullmatch(r"[0-9]+", quotas[-1]) else 0
        return RateLimit(limit, least[1], least[2])
    for prefix in ("RateLimit-", "X-RateLimit-"):
        remaining = _count(headers.get(prefix + "Remaining"))
        if remaining is not None:
            at = _count(headers.get(prefix + "Reset"))
            return RateLimit(_count(headers.get(prefix + "Limit")) or 0, remaining, _reset_after(at, headers))
    return None


def _reset_after(number: int | None, headers: httpx.Headers) -> int:
    """Returns the seconds until a reset. From a billion on, the number is a time."""
    if number is None:
        return 0
    if number >= 10**9:
        date = http_time(headers.get("Date", ""))
        number = 0 if date is None else max(0, number - date)
    return min(number, _YEAR)


def read_result(answer: Answer) -> Parsed:
    """Reads a response to a call whose status is 2xx. The error is a ResponseError, or a RefusalError in an envelope."""
    headers = answer.headers
    parsed = Parsed(
        {},
        b"{}",
        answer.status,
        parse_charge(headers.get("UIM-Charge", "")),
        parse_rate_limit(headers),
        identifier(headers.get("UIM-Request-ID", "")),
        _replayed(headers),
        _sunset(headers),
        tuple(headers.get_list("UIM-Receipt")),
    )
    if not answer.body.strip():
        return parsed
    if not is_json(media_type(headers)):
        raise _unreadable(parsed, f"its type is {clean(media_type(headers))}, not JSON")
    try:
        tree = decode(answer.body)
    except JsonError as error:
        raise _unreadable(parsed, str(error)) from None
    parsed.output, parsed.raw = tree, answer.body
    if not isinstance(tree, dict) or not _enveloped(headers, tree):
        return parsed
    if tree["status"] == "error":
        raise refusal_error(read_refusal(answer))
    parsed.output = tree["data"]
    parsed.raw = canonical(decode(answer.body, exact=True)["data"])
    meta = tree.get("meta")
    if isinstance(meta, dict):
        parsed.charge = parsed.charge or charge_of(meta.get("charge"))
        if not parsed.receipts and isinstance(meta.get("receipt"), str):
            parsed.receipts = (meta["receipt"],)
    return parsed


def _unreadable(parsed: Parsed, why: str) -> ResponseError:
    return ResponseError(
        Refusal(
            parsed.status,
            message=f"the service's response cannot be used: {why}",
            outcome="done",
            charge=parsed.charge,
            rate_limit=parsed.rate_limit,
            request_id=parsed.request_id,
            replayed=parsed.replayed,
            receipts=parsed.receipts,
        )
    )


def _enveloped(headers: httpx.Headers, tree: dict[str, Any]) -> bool:
    payload = {"success": "data", "error": "error"}.get(str(tree.get("status")))
    if payload is None or payload not in tree:
        return False
    return media_type(headers) == "application/uim+json" or set(tree) <= {"status", payload, "meta"}


def _replayed(headers: httpx.Headers) -> bool:
    return str(headers.get("Idempotency-Replayed", "")).lower() == "true"


def _sunset(headers: httpx.Headers) -> Sunset | None:
    at = http_time(headers.get("Sunset", ""))
    if at is None:
        return None
    path, query = _successor(headers)
    uid = unquote(path.rpartition("/")[2])
    digest = (parse_qs(query, max_num_fields=16).get("digest") or [""])[0] if len(query) <= _MAX_TEXT else ""
    if "Deprecation" in headers:
        return Sunset(at, True, next_policy=digest if is_digest(digest) else "")
    return Sunset(at, False, replaced_by=uid if _UID.fullmatch(uid) else "")


def _successor(headers: httpx.Headers) -> tuple[str, str]:
    """Returns path and query of the link to the successor (RFC 5829 3.4)."""
    for target in _LINK.findall(headers.get("Link", "")[:_MAX_HEADER]):
        try:
            parts = urlsplit(target)
        except ValueError:
            continue
        return parts.path, parts.query
    return "", ""


def read_refusal(answer: Answer) -> Refusal:
    """Reads an error in one of the forms in use: of this protocol, RFC 9457, and those of web frameworks. It never fails."""
    headers = answer.headers
    refusal = Refusal(
        answer.status,
        charge=parse_charge(headers.get("UIM-Charge", "")),
        rate_limit=parse_rate_limit(headers),
        replayed=_replayed(headers),
        request_id=identifier(headers.get("UIM-Request-ID", "")),
        receipts=tuple(headers.get_list("UIM-Receipt")),
    )
    if is_json(media_type(headers)) and len(answer.body) <= _MAX_ERROR:
        try:
            tree = decode(answer.body)
        except JsonError:
            tree = None
        if isinstance(tree, dict):
            inner = tree.get("error")
            if isinstance(inner, dict):
                _read_envelope(refusal, inner)
            elif isinstance(inner, str):
                refusal.message = clean(inner)
            else:
                _read_foreign(refusal, tree)
    wait = retry_after(headers)
    refusal.retry_after = wait if wait is not None else refusal.retry_after
    refusal.charge = refusal.charge or charge_of(refusal.details.get("charge"))
    if not refusal.receipts and isinstance(refusal.details.get("receipt"), str):
        refusal.receipts = (refusal.details["receipt"],)
    return refusal


def _read_envelope(refusal: Refusal, inner: dict[str, Any]) -> None:
    details = inner.get("details")
    d: dict[str, Any] = details if isinstance(details, dict) else {}
    refusal.code, refusal.message, refusal.details = name_of(inner.get("code")), clean(inner.get("message")), d
    refusal.reason, refusal.uim_code, refusal.suggestion = name_of(d.get("reason")), name_of(d.get("uim_code")), clean(d.get("suggestion"))
    upstream, policy = d.get("upstream"), d.get("policy")
    if isinstance(upstream, dict):
        refusal.upstream = clean(upstream.get("message"))
    if d.get("outcome") in ("not_sent", "failed", "done", "unknown"):
        refusal.outcome = d["outcome"]
    refusal.retry_after = whole(d.get("retry_after"))
    if isinstance(policy, dict) and is_digest(policy.get("digest")):
        refusal.offered = policy["digest"]
    refusal.violations = tuple(_violation(v) for v in _list(d.get("violations")) if isinstance(v, dict))
    refusal.changes = tuple(
        f"{clean(c.get('about'))} {clean(c['text'])}".strip()
        for c in _list(d.get("changes"))[:_MAX_CHANGES]
        if isinstance(c, dict) and isinstance(c.get("text"), str) and c["text"]
    )


def _violation(v: dict[str, Any]) -> Violation:
    return Violation(
        clean(v.get("pointer")),
        clean(v.get("message")),
        name_of(v.get("reason")),
        name_of(v.get("keyword")),
        v.get("limit"),
        tuple(clean(k) for k in _list(v.get("known")) if isinstance(k, str)),
        clean(v.get("nearest")),
    )


def _read_foreign(refusal: Refusal, tree: dict[str, Any]) -> None:
    refusal.code = name_of(tree.get("code"))
    for name in ("message", "detail", "title"):
        value = tree.get(name)
        if isinstance(value, str):
            refusal.message = clean(value)
        elif isinstance(value, list):  # FastAPI: [{"loc": […], "msg": "…"}]
            refusal.violations += tuple(
                Violation(_location(v.get("loc")), clean(v["msg"]))
                for v in _list(value)
                if isinstance(v, dict) and isinstance(v.get("msg"), str)
            )
            refusal.message = "the request does not match the schema of the service"
        elif isinstance(value, dict):
            _read_envelope(refusal, value)
        if refusal.message:
            return


def _location(value: object) -> str:
    parts = [str(p) for p in _list(value) if isinstance(p, (str, int))][:17]
    parts = parts[1:] if parts[:1] == ["body"] else parts
    return "".join("/" + clean(p).replace("~", "~0").replace("/", "~1") for p in parts)


def _list(value: object) -> list[Any]:
    return value[:_MAX_ITEMS] if isinstance(value, list) else []
