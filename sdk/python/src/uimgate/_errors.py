"""The errors of this package. None of them contains a token, a signature or the value of a parameter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._answers import Charge, RateLimit
    from ._receipts import Problem


class UimError(Exception):
    """The base class of all errors of this package."""


class OptionsError(UimError, ValueError):
    """An argument is wrong. Nothing was sent."""


class JsonError(UimError, ValueError):
    """A text is not JSON that all parsers read in the same way, or a value has no exact form in JSON."""

    def __init__(self, why: str, pointer: str | None = None) -> None:
        super().__init__(why if pointer is None else f"{why} (at {pointer or 'the top'})")
        self.pointer = pointer


class FileError(UimError):
    """A key, session or budget file cannot be used."""


class DiscoveryError(UimError):
    """No agents.json was found, or the one that was found cannot be used."""


class AddressError(UimError):
    """An address is not allowed: it is not https, or it is not on the public internet. Nothing was sent to it."""


class IssuerError(UimError):
    """A service uses a name that its address may not use. Nothing was signed."""

    def __init__(self, issuer: str, host: str) -> None:
        super().__init__(f"{host} requests an agreement made out to {issuer}, which is not its own name: nothing was signed")
        self.issuer, self.host = issuer, host


class NetworkError(UimError):
    """There was no usable response. sent reports whether the request may have reached the service."""

    def __init__(self, why: str, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class NotAgreedError(UimError):
    """There is no agreement: call agree() first."""

    def __init__(self) -> None:
        super().__init__("there is no agreement with this service: read its policy, and call agree()")


class PendingError(UimError):
    """The operator of the service must approve the agent first. Call agree() again later, at most once a minute."""

    def __init__(self, agreement_id: str) -> None:
        super().__init__(f"the agreement {agreement_id} waits until the operator of the service approves it")
        self.agreement_id = agreement_id


class PolicyChangedError(UimError):
    """The service no longer offers the policy that was accepted. The new one was not signed. changes describes the changes in the words
    of the service."""

    def __init__(self, agreed: str, offered: str, changes: tuple[str, ...] = ()) -> None:
        now = f", but the service now offers {offered}" if offered else ""
        super().__init__(f"the policy has changed: {agreed} was accepted{now}; the current policy was not signed")
        self.agreed, self.offered, self.changes = agreed, offered, changes


class ParametersError(UimError, ValueError):
    """Parameters cannot be sent. Nothing was sent."""


class BudgetError(UimError):
    """A call could exceed the budget. Nothing was sent."""


class ApprovalError(UimError):
    """approve() declined the call or the policy. Nothing was sent."""


class RenewalError(UimError):
    """The token could not be renewed, so the call was not sent."""


class LostError(UimError):
    """An earlier attempt of a call may have taken effect, and its response was lost. Repeat the call under the same idempotency key."""

    def __init__(self, cause: BaseException, idempotency_key: str) -> None:
        super().__init__(f"{cause}; an earlier attempt, whose response was lost, may have taken effect")
        self.cause, self.idempotency_key = cause, idempotency_key


@dataclass(frozen=True)
class Violation:
    """One error in the parameters of a call."""

    pointer: str = ""
    message: str = ""
    reason: str = ""
    keyword: str = ""
    limit: Any = None
    known: tuple[str, ...] = ()
    nearest: str = ""


@dataclass
class Refusal:
    """What the response of a refused or failed call contains. Its texts come from the service, each limited to 500 characters on one
    line."""

    status: int
    code: str = ""
    reason: str = ""
    uim_code: str = ""
    message: str = ""
    suggestion: str = ""
    upstream: str = ""
    violations: tuple[Violation, ...] = ()
    retry_after: int | None = None
    outcome: str = ""
    charge: Charge | None = None
    rate_limit: RateLimit | None = None
    request_id: str = ""
    replayed: bool = False
    offered: str = ""
    changes: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict, repr=False)
    receipts: tuple[str, ...] = field(default=(), repr=False)
    discrepancies: tuple[Problem, ...] = ()


class RefusalError(UimError):
    """A service refused a request, or failed. Decide by reason; the subclasses group the reasons."""

    def __init__(self, refusal: Refusal) -> None:
        name = refusal.reason or refusal.code or f"the service responded with {refusal.status}"
        super().__init__(name + (f": {refusal.message}" if refusal.message else ""))
        self.refusal = refusal

    @property
    def status(self) -> int:
        """The status of HTTP."""
        return self.refusal.status

    @property
    def reason(self) -> str:
        """details.reason, the exact cause; empty if the service gives none."""
        return self.refusal.reason

    @property
    def violations(self) -> tuple[Violation, ...]:
        """All errors in the parameters."""
        return self.refusal.violations

    @property
    def suggestion(self) -> str:
        """What to do, in the words of the service."""
        return self.refusal.suggestion

    @property
    def retry_after(self) -> int | None:
        """Seconds to wait; None if the service states none."""
        return self.refusal.retry_after

    @property
    def charge(self) -> Charge | None:
        """The charge of the call; None if the service states none."""
        return self.refusal.charge


class ResponseError(RefusalError):
    """The service executed the call, and may have charged for it, but its response cannot be used."""


class TokenError(RefusalError):
    """401: the token is missing, expired, revoked or invalid."""


class ParameterError(RefusalError):
    """400: the parameters are invalid. violations lists all errors."""


class PaymentError(RefusalError):
    """402: the account of the agent does not cover the call."""


class PermissionsError(RefusalError):
    """403: the agreement, the policy or the operator does not permit the call."""


class ConflictError(RefusalError):
    """409: the request conflicts with another call, agreement or key."""


class OutcomeUnknownError(RefusalError):
    """Whether the call took effect is unknown. Repeat it after a minute or more with the same idempotency key."""


class LimitError(RefusalError):
    """429: a limit is used up. retry_after states when the limit admits calls again. After QUOTA_EXCEEDED, it never does."""


class UnavailableError(RefusalError):
    """5xx: the service failed or is unavailable."""


def refusal_error(refusal: Refusal) -> RefusalError:
    """Returns the error of the group to which a refusal belongs."""
    status = refusal.status
    if refusal.reason == "OUTCOME_UNKNOWN" or refusal.outcome == "unknown":
        return OutcomeUnknownError(refusal)
    if refusal.violations:
        return ParameterError(refusal)
    groups = {401: TokenError, 402: PaymentError, 403: PermissionsError, 409: ConflictError, 429: LimitError}
    if status in groups:
        return groups[status](refusal)
    return UnavailableError(refusal) if status >= 500 else RefusalError(refusal)
