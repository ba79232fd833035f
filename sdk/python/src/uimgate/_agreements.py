"""Flows that agree to a policy and keep the token current. A client runs them with blocking requests or on asyncio."""

from __future__ import annotations

import json
import secrets
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit

from ._answers import Answer, is_digest, is_json, media_type, read_refusal
from ._book import Book
from ._discovery import Catalog, Target, issuer_host, speaks_for
from ._errors import (
    ApprovalError,
    FileError,
    IssuerError,
    JsonError,
    NetworkError,
    NotAgreedError,
    OptionsError,
    PendingError,
    PolicyChangedError,
    RefusalError,
    RenewalError,
    ResponseError,
    UimError,
    refusal_error,
)
from ._errors import Refusal
from ._json import decode_object
from ._keys import Key, digest_of, read_jws
from ._money import Amount
from ._network import Exchange, is_loopback
from ._policy import Policy
from ._receipts import KeySet, Receipt
from ._ruleprice import states_price
from ._session import Agreement, Session, SessionFile, read_token
from ._settings import Accept, Ask, Flow, Settings, Work, alone
from ._terms import same_terms

_MAX_POLICY = 1 << 20
_MAX_TOKEN_ANSWER = 256 << 10
_MAX_KEYS = 1 << 20
_KEYS_PAUSE = 60.0  # seconds between two requests for the keys of receipts
_POLICY_PAUSE = 60.0  # seconds between two searches for a policy that a receipt names
_MAX_COMPARED = 1000
_MAX_RECEIPT = 16 << 10
_WAIT = 30.0


class Agreements:
    """The agreement of an agent with one service."""

    def __init__(self, settings: Settings, catalog: Catalog, target: Target) -> None:
        self.settings, self.catalog, self.target = settings, catalog, target
        self.keys = KeySet()
        self._session: Session | None = None
        self._next: Session | None = None
        self._pending: tuple[tuple[Any, ...], bytes] | None = None
        self._keys_at: float | None = None
        self._policies_at: float | None = None
        self._later_policy: tuple[str, bytes] | None = None  # digest and document of a policy that a receipt named
        self._prices: set[tuple[str, str, Amount]] = set()  # that policies state, with the digest of the policy and the rule
        self._same: dict[tuple[str, str, str], bool] = {}  # by the digests of two policies and the intent: whether the terms are the same
        key = settings.key
        self.book = Book(settings.receipts, catalog.url, settings.agent_id) if settings.receipts and key else None
        self._file = SessionFile(settings.directory, catalog.url, settings.agent_id, key.thumbprint) if settings.directory and key else None

    @property
    def session(self) -> Session | None:
        """The present session. One that was agreed in advance replaces it on its date."""
        after = self._next
        if after and (after.agreement.not_before or 0) <= self.settings.clock.now():
            self._session, self._next = after, None
        return self._session

    def must(self) -> Session:
        """Returns the session, or raises a NotAgreedError."""
        session = self.session
        if session is None:
            raise NotAgreedError
        return session

    def key(self) -> Key:
        """Returns the key of the agent."""
        if self.settings.key is None:
            raise OptionsError("the client has no key, so it can only read: pass key to discover()")
        return self.settings.key

    def load(self) -> Flow:
        """Reads the stored session."""
        if self._file:
            kept = yield Work(self._file.load)
            if kept:
                self._session, self.keys = kept
        if self.book:
            recorded: KeySet | None = yield Work(self.book.trusted)
            if self.keys.keys and recorded is None:
                yield from self._record_keys()
            elif not self.keys.keys and recorded:
                self.keys = recorded

    def keep(self) -> Flow:
        """Writes the session, if there is a file for it."""
        if self._file and self._session:
            yield Work(partial(self._file.save, self._session, self.keys))

    def exchange(self, exchange: Exchange) -> Flow:
        """Sends a request, and updates the clock from the response."""
        exchange.named_by = exchange.named_by or self.catalog.url
        if self.settings.timeout:
            exchange.timeout = self.settings.timeout
        answer: Answer = yield exchange
        self.settings.clock.observe(answer)
        return answer

    def document(self, url: str, most: int, accept: str = "application/json, application/ld+json;q=0.9") -> Flow:
        """Fetches a document whose status is 200."""
        answer: Answer = yield from self.exchange(Exchange("GET", url, {"Accept": accept}, most=most, follow=True))
        if answer.status != 200:
            raise refusal_error(read_refusal(answer))
        return answer

    def policy(self, digest: str | None = None, *, explain: bool = False) -> Flow:
        """Fetches the policy in force, or the one with a digest."""
        url = self.catalog.endpoints["uim-policy-file"]
        answer: Answer = yield from self.document(_with_digest(url, digest) if digest else url, _MAX_POLICY)
        policy = _read_policy(answer)
        if not explain:
            return policy
        try:
            words: Answer = yield from self.document(_with_digest(url, policy.digest), _MAX_POLICY, "text/plain")
            text = words.body.decode("utf-8", "replace")
            if media_type(words.headers) == "text/plain" and policy.digest in text:  # and not those of a policy that has replaced it
                return Policy.read(answer.body, answer.url, text)
        except (RefusalError, NetworkError):
            pass  # a service need not explain its policy
        return policy

    def agree(
        self,
        accept: str | Accept,
        scope: list[str] | None,
        declared: dict[str, list[str]] | None,
        issuer: str | None,
        on_date: bool,
        plan: str | None = None,
    ) -> Flow:
        """Signs a policy that the caller accepts, and stores the token."""
        self.key()
        if plan is not None:
            declared = {"plan": [plan], **(declared or {})}
            if declared["plan"] != [plan]:
                raise OptionsError("declared['plan'] and plan name different plans")
        self._check_issuer(issuer)
        if callable(accept):
            policy: Policy = yield from self.policy(explain=True)
            if (yield Ask(accept, (policy,))) is not True:
                raise ApprovalError(f"the policy {policy.digest} was not accepted: nothing was signed")
        else:
            policy = yield from self._accepted(accept)
        terms = (policy.digest, tuple(scope or ()), json.dumps(declared, sort_keys=True), on_date, plan)
        pending = self._pending
        if pending and pending[0] == terms:
            try:
                return (yield from self._issue(pending[1], terms, policy, scope, declared))
            except RefusalError as error:
                if error.reason not in ("AGREEMENT_STALE", "AGREEMENT_REPLAYED"):
                    raise
        return (yield from self._sign(terms, policy, scope, declared, on_date, plan))

    def _accepted(self, digest: str) -> Flow:
        if not is_digest(digest):
            raise OptionsError("accept must be the digest of the policy that you have read, such as sha-256:…, or a function")
        policy: Policy = yield from self.policy()
        if policy.digest == digest:
            return policy
        try:
            announced: Policy = yield from self.policy(digest)  # one that takes effect later
            if announced.digest == digest:
                return announced
        except RefusalError:
            pass
        raise PolicyChangedError(digest, policy.digest)

    def _sign(
        self,
        terms: tuple[Any, ...],
        policy: Policy,
        scope: list[str] | None,
        declared: dict[str, list[str]] | None,
        on_date: bool,
        plan: str | None = None,
    ) -> Flow:
        for last in (False, True):
            body = self._agreement(policy, scope, declared, on_date, plan)
            try:
                return (yield from self._issue(body, terms, policy, scope, declared))
            except RefusalError as error:
                # The Date of that response has set the clock, if the clock was the cause.
                if last or error.reason not in ("AGREEMENT_STALE", "AGREEMENT_REPLAYED"):
                    raise
        raise AssertionError

    def _agreement(
        self,
        policy: Policy,
        scope: list[str] | None,
        declared: dict[str, list[str]] | None,
        on_date: bool,
        plan: str | None,
    ) -> bytes:
        key, s = self.key(), self.settings
        claims: dict[str, Any] = {
            "iss": s.agent_id,
            "aud": self.catalog.issuer,
            "htu": self.catalog.endpoints["uim-pat-issue"],
            "iat": int(s.clock.now()),
            "jti": secrets.token_urlsafe(24),
            "policy": {"uid": policy.uid, "digest": policy.digest},
        }
        body: dict[str, Any] = {"agent_id": s.agent_id, "agent_public_key": key.pem}
        if scope:
            claims["scope"] = body["scope"] = scope
        if declared:
            claims["declared"] = declared
        if plan is not None:
            body["plan"] = plan
        if on_date:
            body["effective"] = "on_date"
        body["signed_policy"] = key.sign_jws({"typ": "uim-agreement+jwt"}, claims)
        return json.dumps(body).encode("ascii")

    def _issue(
        self, body: bytes, terms: tuple[Any, ...], policy: Policy, scope: list[str] | None, declared: dict[str, list[str]] | None
    ) -> Flow:
        answer: Answer = yield from self.post("uim-pat-issue", {"Content-Type": "application/json"}, body)
        try:
            session = self._read(answer, policy)
        except PendingError:
            self._pending = (terms, body)
            raise
        session.requested, session.declared = scope, declared
        self._pending = None
        yield from self._keep_evidence(session, body)
        if self._session and (session.agreement.not_before or 0) > self.settings.clock.now():
            self._next = session
            return session.agreement
        self._session, self._next = session, None
        yield from self._pin()
        yield from self.keep()
        return session.agreement

    def _keep_evidence(self, session: Session, body: bytes) -> Flow:
        """Stores a signed agreement and its policy beside the receipts. Without them, an export of evidence is not complete."""
        a = session.agreement
        if self.book is None or not a.id:
            return
        documents, signed, issuer = self.book.documents, json.loads(body)["signed_policy"], self.catalog.issuer
        try:
            yield Work(partial(documents.keep_policy, a.policy_uid, a.policy_digest, session.policy))
            keep = partial(documents.keep_agreement, a.id, signed, issuer, a.policy_uid, a.policy_digest, session.policy, self.key())
            yield Work(keep)
        except FileError as error:
            self.settings.warn(f"the agreement was not stored beside the receipts: {error}")

    def successor(self, session: Session, receipt: str, intent: str) -> Flow:
        """Returns the digest of the policy that a receipt names, if it is not the agreed one and has the same terms for the intent;
        otherwise "". It makes at most two requests a minute."""
        agreed = session.agreement.policy_digest
        try:
            digest = decode_object(read_jws(receipt, _MAX_RECEIPT)[1]).get("pol")
        except ValueError:
            return ""
        if not isinstance(digest, str) or not is_digest(digest) or digest == agreed:
            return ""
        pair = (agreed, digest, intent)
        if pair not in self._same:
            document: bytes | None = yield from self._policy_with(digest)
            if document is None:
                return ""
            if len(self._same) >= _MAX_COMPARED:
                self._same.clear()
            self._same[pair] = same_terms(session.policy, document, intent)
        return digest if self._same[pair] else ""

    def contradicts(self, session: Session, receipt: Receipt, successor: str) -> Flow:
        """Reports whether the amount of a receipt is not the price that its policy states at its rule. successor is the result of
        successor(). The result is False if the client has neither agreed to the policy nor knows it as the successor, or cannot find the
        rule in it."""
        digest, rule = receipt.entry.get("pol"), receipt.entry.get("rule")
        if not isinstance(digest, str) or not isinstance(rule, str) or not rule:
            return False
        price = (digest, rule, receipt.amount)
        if price in self._prices:
            return False
        document: bytes | None = None
        if digest == session.agreement.policy_digest:
            document = session.policy
        elif digest == successor:
            document = yield from self._policy_with(digest)
        try:
            states = states_price(decode_object(document or b"{}", exact=True), rule, receipt.amount)
        except JsonError:
            return False
        if states:
            if len(self._prices) >= _MAX_COMPARED:
                self._prices.clear()
            self._prices.add(price)
        return states is False

    def _policy_with(self, digest: str) -> Flow:
        """Returns the policy with a digest, which the service offers or the client has stored; None if there is none."""
        if self._later_policy and self._later_policy[0] == digest:
            return self._later_policy[1]
        try:
            found: bytes | None = (yield Work(partial(self.book.documents.policy, digest))) if self.book else None
        except FileError:
            found = None
        if found is None:
            now = self.settings.clock.now()
            if self._policies_at is not None and now < self._policies_at + _POLICY_PAUSE:
                return None
            self._policies_at = now
            try:
                policy: Policy = yield from self.policy()
                if policy.digest != digest:
                    policy = yield from self.policy(digest)
                if policy.digest != digest:
                    return None
                found = policy.text
                if self.book:
                    yield Work(partial(self.book.documents.keep_policy, policy.uid, digest, found))
            except FileError:
                pass  # the policy is fetched again
            except UimError:
                return None
        if found is not None:
            self._later_policy = (digest, found)
        return found

    def _read(self, answer: Answer, policy: Policy) -> Session:
        if answer.status // 100 != 2:
            raise self.refused(answer, policy.digest)
        now = self.settings.clock.now()
        return read_token(answer, uid=policy.uid, digest=policy.digest, key=self.key(), now=now, policy=policy.text)

    def refused(self, answer: Answer, agreed: str) -> UimError:
        """Returns the error of a response; a PolicyChangedError if the service offers a policy other than the agreed one."""
        refusal = read_refusal(answer)
        if 300 <= answer.status < 400:
            refusal.message = "the service redirects the request, but the client sends no token and no signature through a redirect"
        if refusal.reason in ("POLICY_MISMATCH", "POLICY_REQUIRES_AGREEMENT") and refusal.offered != agreed:
            return PolicyChangedError(agreed, refusal.offered, refusal.changes)
        return refusal_error(refusal)

    def post(self, name: str, headers: dict[str, str], body: bytes = b"", most: int = _MAX_TOKEN_ANSWER, timeout: float = _WAIT) -> Flow:
        """Posts to an endpoint, without redirects."""
        url = self.catalog.endpoints[name]
        headers = {"Accept": "application/json", **headers}
        return (yield from self.exchange(Exchange("POST", url, headers, body, most, timeout)))

    def proof(self, session: Session, digest: str) -> str:
        """Makes a proof of key for one request. The proof is valid once, within five minutes."""
        key = self.key()
        return key.sign_jws(
            {"typ": "uim-proof+jwt", "kid": key.thumbprint},
            {
                "iat": int(self.settings.clock.now()),
                "jti": secrets.token_urlsafe(24),
                "aud": self.catalog.issuer,
                "pat": session.token_id,
                "digest": digest,
            },
        )

    def current(self) -> Flow:
        """Returns the session, after a renewal if that is due. If a renewal fails while the token is still valid, it is retried later."""
        session = self.must()
        now = self.settings.clock.now()
        if session.due(now):
            try:
                yield from self.renew(session)
            except PolicyChangedError:
                raise
            except UimError as error:
                if session.expired(now):
                    raise RenewalError(f"the token could not be renewed: {error}") from error
        return self.must()

    def renew(self, before: Session) -> Flow:
        """Replaces a token. Flows that renew the same token share one request."""
        yield from alone("renew", self._renew(before))
        return self.must().agreement

    def _renew(self, before: Session) -> Flow:
        session = self.must()
        if session.token != before.token:
            return  # another flow has replaced it
        headers = {"Authorization": f"Bearer {session.token}"}
        if session.token_id:
            headers["UIM-Proof"] = self.proof(session, digest_of({"renew": session.token_id}))
        answer: Answer = yield from self.post("uim-pat-renew", headers)
        policy = Policy(session.agreement.policy_uid, session.agreement.policy_digest, session.policy, {})
        if answer.status // 100 == 2:
            new = self._read(answer, policy)
            self._session = _carried(new, session)
            yield from self.keep()
            return
        error = self.refused(answer, policy.digest)
        refused = isinstance(error, RefusalError) and error.reason == "EXPIRED_TOKEN"
        if not refused and not (answer.status in (404, 405, 501)):
            raise error
        # The agreement is made again, to the same policy.
        same: Policy = yield from self._accepted(policy.digest)
        terms = (same.digest,)
        yield from self._sign(terms, same, session.requested, session.declared, False)

    def revoke(self) -> Flow:
        """Ends the token and all its renewals."""
        session = self.must()
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": f"Bearer {session.token}"}
        answer: Answer = yield from self.post("uim-pat-revoke", headers, urlencode({"token": session.token}).encode("ascii"))
        if answer.status // 100 != 2:
            raise self.refused(answer, session.agreement.policy_digest)
        self._session = self._next = None
        if self._file:
            yield Work(partial(self._file.path.unlink, missing_ok=True))

    def _check_issuer(self, accepted: str | None) -> None:
        """Checks that the address of the service may use the name of the service. Otherwise the service could use the agreement at the
        owner of the name."""
        issuer = self.catalog.issuer
        hosts = [urlsplit(url).hostname or "" for url in (self.catalog.url, self.target.urls[0])]
        if self.settings.allow_insecure or accepted == issuer or any(is_loopback(host) for host in hosts):
            return
        if not any(speaks_for(host, issuer_host(issuer)) for host in [*hosts, self.target.domain]):
            raise IssuerError(issuer, hosts[0])

    def _pin(self) -> Flow:
        """Trusts the keys that sign the service's receipts at present."""
        answer = yield from self._fetch_keys()
        found = KeySet.parse(answer.body) if answer else KeySet()
        if found.keys:
            self.keys = found
            yield from self._record_keys()

    def _record_keys(self) -> Flow:
        """Records the trusted keys. Without that record, offline checks report an unknown key, until the agent agrees again."""
        if self.book is None:
            return
        try:
            yield Work(partial(self.book.trust, self.keys, self.settings.clock.local()))
        except FileError as error:
            self.settings.warn(f"the keys for receipts were not stored: {error}")

    def trusted(self) -> Flow:
        """Returns the pinned keys for receipts. If there are none, it first pins the present keys of the service."""
        if not self.keys.keys:
            yield from self._pin()
        return self.keys

    def introduce(self) -> Flow:
        """Trusts the new keys that trusted keys introduce, and reports whether there are any."""
        answer = yield from self._fetch_keys()
        if answer is None or not self.keys.introduce_all(answer.body):
            return False
        yield from self.keep()
        yield from self._record_keys()
        return True

    def _fetch_keys(self) -> Flow:
        now = self.settings.clock.now()
        if "uim-receipts" not in self.catalog.endpoints or (self._keys_at is not None and now < self._keys_at + _KEYS_PAUSE):
            return None
        self._keys_at = now
        try:
            return (yield from self.document(self.catalog.endpoints["uim-jwks"], _MAX_KEYS))
        except UimError:
            return None


def _carried(new: Session, old: Session) -> Session:
    """Returns a renewed session, completed with the values that the response does not repeat."""
    a, b = new.agreement, old.agreement
    new.agreement = Agreement(
        a.id or b.id,
        a.policy_uid,
        a.policy_digest,
        a.scope if a.scope is not None else b.scope,
        a.scope_omitted or b.scope_omitted,
        a.expires_at,
        a.not_before,
    )
    new.requested, new.declared = old.requested, old.declared
    return new


def _with_digest(url: str, digest: str) -> str:
    return url + ("&" if urlsplit(url).query else "?") + urlencode({"digest": digest})


def _read_policy(answer: Answer) -> Policy:
    if not is_json(media_type(answer.headers)):
        raise ResponseError(Refusal(answer.status, message="the policy is not JSON", outcome="not_sent"))
    try:
        return Policy.read(answer.body, answer.url)
    except JsonError as error:
        raise ResponseError(Refusal(answer.status, message=f"the policy cannot be read: {error}", outcome="not_sent")) from None
