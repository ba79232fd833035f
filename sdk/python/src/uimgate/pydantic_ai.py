"""Intents as tools of Pydantic AI (pydantic-ai-slim 0.4 or later), which runs on asyncio."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from pydantic_ai import Tool as PydanticTool

from ._budget import Budget
from ._settings import Approve
from ._tools import Tool, tools_of
from .client import AsyncUimClient


def tools(
    client: AsyncUimClient, *, only: Iterable[str] | None = None, budget: Budget | str | None = None, approve: Approve | None = None
) -> list[Any]:
    """Returns the agreed intents as tools. budget and approve replace those of the client."""
    return [
        PydanticTool.from_schema(
            function=partial(_run, tool), name=tool.name, description=tool.description, json_schema=tool.schema, takes_ctx=False
        )
        for tool in tools_of(client, only, budget, approve)
    ]


async def _run(tool: Tool, **parameters: Any) -> str:
    return await tool.acall(parameters)
