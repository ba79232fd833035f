"""A client for services behind uimgate: it agrees to their policies, proves its calls, and keeps within a budget.

    from uimgate import Budget, Key, UimClient

    key = Key.from_file("~/.config/uimgate/agent.pem", create=True)
    with UimClient.discover("shop.example", key=key, budget=Budget("5 EUR/day")) as shop:
        policy = shop.policy()
        print(policy.explain())
        shop.agree(policy.digest)
        print(shop.execute("shop.example:search-products:v1", {"query": "lamp"}).output)
"""

from ._answers import Charge, RateLimit, Sunset
from ._budget import Budget, Limit
from ._calls import Unfinished
from ._discovery import Intent
from ._errors import (
    AddressError,
    ApprovalError,
    BudgetError,
    ConflictError,
    DiscoveryError,
    FileError,
    IssuerError,
    JsonError,
    LimitError,
    LostError,
    NetworkError,
    NotAgreedError,
    OptionsError,
    OutcomeUnknownError,
    ParameterError,
    ParametersError,
    PaymentError,
    PendingError,
    PermissionsError,
    PolicyChangedError,
    Refusal,
    RefusalError,
    RenewalError,
    ResponseError,
    TokenError,
    UimError,
    UnavailableError,
    Violation,
)
from ._execute import Result
from ._keys import Key, PublicKey
from ._money import Amount
from ._network import AsyncGuardedTransport, GuardedTransport
from ._policy import Policy, Price
from ._receipts import Problem, Receipt
from ._session import Agreement, Omitted
from ._settings import Call
from ._verify import VerifiedReceipt, verify_receipt
from .client import AsyncUimClient, UimClient

__version__ = "0.1.0"

__all__ = [
    "AddressError",
    "Agreement",
    "Amount",
    "ApprovalError",
    "AsyncGuardedTransport",
    "AsyncUimClient",
    "Budget",
    "BudgetError",
    "Call",
    "Charge",
    "ConflictError",
    "DiscoveryError",
    "FileError",
    "GuardedTransport",
    "Intent",
    "IssuerError",
    "JsonError",
    "Key",
    "Limit",
    "LimitError",
    "LostError",
    "NetworkError",
    "NotAgreedError",
    "Omitted",
    "OptionsError",
    "OutcomeUnknownError",
    "ParameterError",
    "ParametersError",
    "PaymentError",
    "PendingError",
    "PermissionsError",
    "Policy",
    "PolicyChangedError",
    "Price",
    "Problem",
    "PublicKey",
    "RateLimit",
    "Receipt",
    "Refusal",
    "RefusalError",
    "RenewalError",
    "ResponseError",
    "Result",
    "Sunset",
    "TokenError",
    "UimClient",
    "UimError",
    "UnavailableError",
    "Unfinished",
    "VerifiedReceipt",
    "Violation",
    "verify_receipt",
]
