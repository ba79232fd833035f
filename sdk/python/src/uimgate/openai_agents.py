"""Intents as tools of the OpenAI Agents SDK (openai-agents 0.1 or later), which runs on asyncio."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from agents import FunctionTool

from ._budget import Budget
from ._errors import JsonError
from ._json import decode_object
from ._settings import Approve
from ._tools import Tool, tools_of
from .client import AsyncUimClient


def tools(
    client: AsyncUimClient, *, only: Iterable[str] | None = None, budget: Budget | str | None = None, approve: Approve | None = None
) -> list[FunctionTool]:
    """Returns the agreed intents as tools. budget and approve replace those of the client."""
    return [
        FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.schema,
            on_invoke_tool=partial(_invoke, tool),
            strict_json_schema=False,
        )
        for tool in tools_of(client, only, budget, approve)
    ]


async def _invoke(tool: Tool, _: Any, arguments: str) -> str:
    try:
        parameters = decode_object(arguments or "{}")
    except JsonError as error:
        return f"The arguments are not valid: {error}."
    return await tool.acall(parameters)
