"""Intents as tools of a language model. The adapters for frameworks use it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ._budget import Budget
from ._discovery import Intent
from ._errors import ApprovalError, BudgetError, ParametersError, RefusalError, UimError
from ._execute import Result
from ._settings import Approve
from .client import AsyncUimClient, UimClient


@dataclass(frozen=True)
class Tool:
    """An intent as a tool: name has at most 64 characters of a-z A-Z 0-9 _ -, schema is the JSON Schema of its parameters."""

    name: str
    description: str
    schema: dict[str, Any]
    intent: Intent
    _client: UimClient | AsyncUimClient
    _budget: Budget | str | None
    _approve: Approve | None

    def call(self, parameters: dict[str, Any]) -> str:
        """Calls the intent, and returns a text for a model: the output as JSON, or the reason of a refusal."""
        if not isinstance(self._client, UimClient):
            raise TypeError("these tools belong to an AsyncUimClient: use the asynchronous calls of the framework")
        try:
            return _output(self._client.execute(self.intent.uid, parameters, budget=self._budget, approve=self._approve))
        except (RefusalError, ParametersError, BudgetError, ApprovalError) as error:
            return _refused(error)

    async def acall(self, parameters: dict[str, Any]) -> str:
        """The same on asyncio."""
        if isinstance(self._client, UimClient):
            raise TypeError("these tools belong to a UimClient: use an AsyncUimClient on asyncio")
        try:
            return _output(await self._client.execute(self.intent.uid, parameters, budget=self._budget, approve=self._approve))
        except (RefusalError, ParametersError, BudgetError, ApprovalError) as error:
            return _refused(error)

    @property
    def blocks(self) -> bool:
        """Reports whether the client blocks."""
        return isinstance(self._client, UimClient)


def tools_of(
    client: UimClient | AsyncUimClient, only: Iterable[str] | None, budget: Budget | str | None, approve: Approve | None
) -> list[Tool]:
    """Returns the agreed intents as tools. only limits them to some UIDs; if the service does not offer a UID, it raises a
    ParametersError."""
    offered = {intent.uid: intent for intent in client.intents}
    chosen = list(offered) if only is None else list(only)
    missing = [uid for uid in chosen if uid not in offered]
    if missing:
        raise ParametersError(f"the service does not offer {', '.join(missing)}")
    scope = client.agreement.scope if client.agreement else None
    tools: dict[str, Tool] = {}
    for uid in chosen:
        if scope and only is None and uid + ":execute" not in scope and f"{uid.partition(':')[0]}:*:execute" not in scope:
            continue
        intent = offered[uid]
        name = tool_name(uid)
        while name in tools:
            name = f"{name[:60]}_{len(tools)}"
        tools[name] = Tool(name, _description(intent), intent.schema(), intent, client, budget, approve)
    return list(tools.values())


def tool_name(uid: str) -> str:
    """Returns the name of an intent as a tool: shop.example:place-order:v1 is place-order_v1."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", "_".join(uid.split(":")[1:]) or uid)[:64]


def _description(intent: Intent) -> str:
    cost = f" Costs {intent.price}." if intent.price else ""
    return f"{intent.description or intent.name}{cost}{'' if intent.safe else ' Changes something.'}"


def _output(result: Result[Any]) -> str:
    return json.dumps(result.output, ensure_ascii=False)


def _refused(error: UimError) -> str:
    """Returns the text of an error for a model: the error and a suggestion. Texts from services are limited in length, and on one line."""
    told: dict[str, Any] = {"error": str(error)}
    if isinstance(error, RefusalError):
        if error.suggestion:
            told["suggestion"] = error.suggestion
        if error.violations:
            told["violations"] = [{"pointer": v.pointer, "message": v.message} for v in error.violations]
        if error.retry_after is not None:
            told["retry_after_seconds"] = error.retry_after
    return json.dumps(told, ensure_ascii=False)
