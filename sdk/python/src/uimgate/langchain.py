"""Intents as tools of LangChain (langchain-core 0.3 or later)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from langchain_core.tools import StructuredTool

from ._budget import Budget
from ._settings import Approve
from ._tools import Tool, tools_of
from .client import AsyncUimClient, UimClient


def tools(
    client: UimClient | AsyncUimClient,
    *,
    only: Iterable[str] | None = None,
    budget: Budget | str | None = None,
    approve: Approve | None = None,
) -> list[Any]:
    """Returns the agreed intents as tools. budget and approve replace those of the client. With an AsyncUimClient, the tools are
    asynchronous (ainvoke)."""
    return [_tool(tool) for tool in tools_of(client, only, budget, approve)]


def _tool(tool: Tool) -> Any:
    run = partial(_run, tool) if tool.blocks else None
    arun = None if tool.blocks else partial(_arun, tool)
    return StructuredTool(name=tool.name, description=tool.description, args_schema=tool.schema, func=run, coroutine=arun)


def _run(tool: Tool, **parameters: Any) -> str:
    return tool.call(parameters)


async def _arun(tool: Tool, **parameters: Any) -> str:
    return await tool.acall(parameters)
