"""The agreements and policies that receipts of a book name, in files beside the book. `uimgate agent receipts export` adds them to the
evidence."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ._errors import FileError, JsonError
from ._files import read_private, write_private
from ._json import decode_object
from ._keys import PublicKey, b64, digest_of, read_jws

_MAX_DOCUMENTS = 1000  # of each kind; storing one more removes the oldest
_MAX_DOCUMENT = 16 << 20
_MAX_SIGNED = 64 << 10


class Documents:
    """The documents of one book. It raises FileErrors."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def keep_policy(self, uid: str, digest: str, text: bytes) -> None:
        """Stores a policy, unless it is stored already."""
        if self.policy(digest) is None:
            document = base64.b64encode(text).decode("ascii")
            self._keep("policy", digest, {"uid": uid, "digest": digest, "document": document})

    def policy(self, digest: str) -> bytes | None:
        """Returns a policy that keep_policy has stored; None if there is none, or it is damaged."""
        text = read_private(self._path("policy", digest), _MAX_DOCUMENT)
        if text is None:
            return None
        try:
            document = base64.b64decode(decode_object(text)["document"], validate=True)
            return document if "sha-256:" + digest_of(decode_object(document, exact=True)) == digest else None
        except (ValueError, KeyError, TypeError, JsonError):
            return None

    def keep_agreement(self, agreement_id: str, signed: str, issuer: str, policy_uid: str, digest: str, policy: bytes, key: PublicKey) -> None:
        """Stores an agreement that the agent has signed (a uim-agreement+jwt), with the policy. agreement_id was chosen by the service."""
        claims = decode_object(read_jws(signed, _MAX_SIGNED)[1])
        at = datetime.fromtimestamp(claims["iat"], timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        agreement = {
            "id": agreement_id,
            "service": issuer,
            "issuer": issuer,
            "agent_id": claims["iss"],
            "agent_public_key": b64(key.spki),
            "jkt": key.thumbprint,
            "policy_uid": policy_uid,
            "policy_digest": digest,
            "assurance": "fresh",
            "form": "jws-agreement",
            "signature": b64(signed.encode("ascii")),
            "nonce": claims["jti"],
            "state": "active",
            "created_at": at,
        }
        if claims.get("scope"):
            agreement["scope"] = claims["scope"]
        agreed = {"uid": policy_uid, "digest": digest, "document": b64(policy), "first_offered": at}
        self._keep("agreement", agreement_id, {"type": "uim-agreement-export", "version": "1", "agreement": agreement, "policy": agreed})

    def _path(self, kind: str, name: str) -> Path:
        return self.directory / f"{kind}-{hashlib.sha256(name.encode()).hexdigest()[:24]}.json"

    def _keep(self, kind: str, name: str, document: dict[str, Any]) -> None:
        """Writes a document, and removes the oldest ones of its kind if there are too many."""
        write_private(self._path(kind, name), json.dumps(document, ensure_ascii=False).encode("utf-8"))
        try:
            paths = list(self.directory.glob(f"{kind}-*.json"))
            if len(paths) > _MAX_DOCUMENTS:
                paths.sort(key=lambda path: path.stat().st_mtime)
            for path in paths[: max(0, len(paths) - _MAX_DOCUMENTS)]:
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()
        except OSError as error:
            raise FileError(f"{self.directory}: {error.strerror}") from None
