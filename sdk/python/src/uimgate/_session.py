"""An agreement with a service, and its token."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ._answers import Answer, clean, identifier, is_digest, name_of, read_time
from ._errors import FileError, JsonError, NetworkError, PendingError, PolicyChangedError
from ._files import read_private, write_private
from ._json import decode_object
from ._keys import PublicKey, unb64
from ._receipts import KeySet

_MAX_TOKEN = 16 << 10
_MAX_SCOPE = 1000
_MAX_FILE = 8 << 20
_LATEST = 253402300799  # the end of the year 9999


@dataclass(frozen=True)
class Omitted:
    """An entry of the requested scope that was not granted."""

    entry: str
    reason: str


@dataclass(frozen=True)
class Agreement:
    """An agreement that the service has accepted. Times are in seconds since 1970; None means that the service does not state them."""

    id: str
    policy_uid: str
    policy_digest: str
    scope: tuple[str, ...] | None
    scope_omitted: tuple[Omitted, ...]
    expires_at: float | None
    not_before: float | None


@dataclass
class Session:
    """The data of an agreement that a client stores."""

    token: str = field(repr=False)
    token_id: str
    agreement: Agreement
    issued_at: float
    policy: bytes = field(repr=False)
    requested: list[str] | None = None
    declared: dict[str, list[str]] | None = None

    def due(self, now: float) -> bool:
        """Reports whether it is time to renew: in the last tenth of the token's life, at most a minute before its end."""
        end = self.agreement.expires_at
        return end is not None and now >= end - min(60.0, max(0.0, end - self.issued_at) / 10)

    def expired(self, now: float) -> bool:
        """Reports whether the token has expired."""
        return self.agreement.expires_at is not None and now >= self.agreement.expires_at


def read_token(answer: Answer, *, uid: str, digest: str, key: PublicKey, now: float, policy: bytes = b"") -> Session:
    """Reads the response to an agreement or a renewal. The token is not verified, because it came from the service itself, but it must be
    for this policy and this key. Errors: PendingError, PolicyChangedError, NetworkError."""
    unusable = NetworkError("the response to the agreement has no token that can be used", True)
    try:
        tree = decode_object(answer.body)
    except JsonError:
        raise unusable from None
    if answer.status == 202 or tree.get("status") == "pending":
        raise PendingError(identifier(tree.get("agreement_id")))
    token = tree.get("uim-pat")
    if not isinstance(token, str) or len(token) > _MAX_TOKEN or not re.fullmatch(r"[A-Za-z0-9._~+/=-]+", token):  # RFC 6750 2.1
        raise unusable
    claims = _claims(token)
    offered = claims.get("pol_digest")
    if isinstance(offered, str) and offered != digest:
        raise PolicyChangedError(digest, offered if is_digest(offered) else "")
    confirmation = claims.get("cnf")
    bound = confirmation.get("jkt") if isinstance(confirmation, dict) else None
    if isinstance(bound, str) and bound != key.thumbprint:
        raise unusable
    expires, issued, begins = (_time(claims.get(name)) for name in ("exp", "iat", "nbf"))
    scope = _texts(tree.get("scope"))
    omitted = tree.get("scope_omitted")
    agreement = Agreement(
        identifier(tree.get("agreement_id")) or identifier(claims.get("agr")),
        uid,
        digest,
        scope if scope is not None else _texts(claims.get("scope")),
        tuple(
            Omitted(clean(o["entry"]), name_of(o.get("reason")))
            for o in (omitted if isinstance(omitted, list) else [])[:_MAX_SCOPE]
            if isinstance(o, dict) and isinstance(o.get("entry"), str)
        ),
        expires if expires is not None else read_time(tree.get("expires_at")),
        begins if begins is not None and issued is not None and begins > issued else None,
    )
    token_id = claims.get("jti")
    return Session(token, token_id if isinstance(token_id, str) else "", agreement, now, policy)


def _claims(token: str) -> dict[str, Any]:
    parts = token.split(".")
    try:
        return decode_object(unb64(parts[1])) if len(parts) == 3 else {}
    except ValueError:
        return {}  # a token may be opaque


def _time(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _LATEST else None


def _texts(value: object) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return tuple(value.split()[:_MAX_SCOPE])
    if isinstance(value, list):
        return tuple(clean(v) for v in value[:_MAX_SCOPE] if isinstance(v, str))
    return None


class SessionFile:
    """Stores a session in a file that only its owner can read, because it contains the token."""

    def __init__(self, directory: Path, agents: str, agent_id: str, thumbprint: str) -> None:
        host = re.sub(r"[^a-z0-9.-]", "_", (urlsplit(agents).hostname or "").lower()).lstrip(".")[:100]
        name = hashlib.sha256("\n".join((agents, agent_id, thumbprint)).encode()).hexdigest()[:12]
        self.path = directory / f"{host}-{name}.python.json"

    def save(self, session: Session, keys: KeySet) -> None:
        """Replaces the file."""
        a = session.agreement
        text = json.dumps(
            {
                "version": 1,
                "token": session.token,
                "token_id": session.token_id,
                "issued_at": session.issued_at,
                "requested": session.requested,
                "declared": session.declared,
                "policy": session.policy.decode("utf-8"),
                "id": a.id,
                "policy_uid": a.policy_uid,
                "policy_digest": a.policy_digest,
                "scope": a.scope,
                "omitted": [[o.entry, o.reason] for o in a.scope_omitted],
                "expires_at": a.expires_at,
                "not_before": a.not_before,
                "keys": {"keys": [{**k.jwk, "kid": k.thumbprint, "uim_purpose": "receipt"} for k in keys.keys.values()]},
            },
            indent=1,
        )
        write_private(self.path, text.encode("utf-8"))

    def load(self) -> tuple[Session, KeySet] | None:
        """Reads the file; None if it does not exist."""
        text = read_private(self.path, _MAX_FILE)
        if text is None:
            return None
        try:
            f = decode_object(text)
            scope = None if f["scope"] is None else tuple(f["scope"])
            omitted = tuple(Omitted(*o) for o in f["omitted"])
            a = Agreement(f["id"], f["policy_uid"], f["policy_digest"], scope, omitted, f["expires_at"], f["not_before"])
            if f["version"] != 1:
                raise JsonError("another version")
            policy = f["policy"].encode("utf-8")
            session = Session(f["token"], f["token_id"], a, f["issued_at"], policy, f["requested"], f["declared"])
            return session, KeySet.parse(json.dumps(f["keys"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise FileError(f"{self.path} is damaged: remove it, and agree again") from None
