"""The record of one call, from before it is sent until its charge is known. Neither a receipt nor the book makes a call fail."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from urllib.parse import quote

from ._agreements import Agreements
from ._answers import Answer, Charge
from ._book import Mark
from ._errors import FileError, UimError
from ._network import Exchange
from ._receipts import Known, Problem, Receipt, check_receipt
from ._session import Session
from ._settings import Flow, Work

_MAX_RECEIPT = 16 << 10
_TIMEOUT = 5.0


class Record:
    """Checks the receipt of a call, and keeps it in the book of the client, if it has one. request is the digest of the call."""

    def __init__(self, agreements: Agreements, uid: str, request: str, free: bool) -> None:
        self._agreements, self._uid, self._request, self._free = agreements, uid, request, free
        self._mark: Mark | None = None
        self._failure: FileError | None = None

    def begin(self) -> Flow:
        """Records that the call is about to be sent, unless it is free. Run it before each attempt."""
        book = self._agreements.book
        if book is None or self._free:
            return
        try:
            mark: Mark = yield Work(partial(book.begin, self._request, self._agreements.settings.clock.local()))
        except FileError as error:
            self._failure = error
            return
        self._mark = mark if self._mark is None else self._mark

    def end(self, session: Session, charge: Charge, receipts: tuple[str, ...], answer: str, replayed: bool) -> Flow:
        """Checks the receipt of a charge, fetches it if the response has none, and records both. answer is the digest of the output; it may
        be empty. It returns the receipt, or None, and the problems."""
        a = self._agreements
        known = Known(
            a.catalog.issuer,
            a.settings.agent_id,
            charge.id,
            charge.amount,
            charge.state,
            a.key().thumbprint,
            session.agreement.policy_digest,
            session.agreement.id,
            session.token_id,
            self._request,
            answer,
            "",
            replayed,
        )
        text = receipts[0] if len(receipts) == 1 else ""
        receipt: Receipt | None = None
        problems: list[Problem] = []
        if len(receipts) > 1:
            problems = [Problem("SIGNATURE", "the response has several receipts")]
        elif not text and charge.state != "pending" and "uim-receipts" in a.catalog.endpoints:
            text = yield from self._fetch(session, charge.id)
            if not text:
                problems = [Problem("CHARGED_WITHOUT_RECEIPT", "the service charged the call, and sent no receipt")]
        if text:
            known = replace(known, successor=(yield from a.successor(session, text, self._uid)))
            receipt, problems = check_receipt(text, (yield from a.trusted()), known)
            if problems and problems[0].name == "KEY" and (yield from a.introduce()):
                receipt, problems = check_receipt(text, a.keys, known)
            if receipt and (yield from a.contradicts(session, receipt, known.successor)):
                problems.append(Problem("AMOUNT", "the charge is not the price that the policy states at the rule"))
        if a.book is None:
            return receipt, problems
        failure = self._failure
        if failure is None:
            add = partial(a.book.add, self._mark or {}, known, self._uid, text, receipt is not None, problems, a.settings.clock.local())
            try:
                problems = yield Work(add)
            except FileError as error:
                failure = error
        if failure is not None:
            problems = [*problems, Problem("FILE", f"the receipt was not stored: {failure}")]
        return receipt, problems

    def _fetch(self, session: Session, execution: str) -> Flow:
        a = self._agreements
        url = (
            a.catalog.endpoints["uim-receipts"]
            .replace("{execution_id}", quote(execution, safe=""))
            .replace("%7Bexecution_id%7D", quote(execution))
        )
        headers = {"Authorization": f"Bearer {session.token}", "Accept": "application/uim-receipt+jwt"}
        try:
            answer: Answer = yield from a.exchange(Exchange("GET", url, headers, most=_MAX_RECEIPT, timeout=_TIMEOUT))
        except UimError:
            return ""
        return answer.body.decode("ascii", "replace").strip() if answer.status == 200 else ""
