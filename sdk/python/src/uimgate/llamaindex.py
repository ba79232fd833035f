"""Intents as tools of LlamaIndex (llama-index-core 0.11 or later)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llama_index.core.tools import BaseTool, ToolMetadata, ToolOutput
from llama_index.core.tools.types import AsyncBaseTool

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
) -> list[BaseTool]:
    """Returns the agreed intents as tools. budget and approve replace those of the client."""
    return [_IntentTool(tool) for tool in tools_of(client, only, budget, approve)]


class _Metadata(ToolMetadata):
    """Metadata with the JSON Schema of the service in place of a model of Pydantic."""

    def __init__(self, tool: Tool) -> None:
        super().__init__(description=tool.description, name=tool.name, fn_schema=None)
        self._schema = tool.schema

    def get_parameters_dict(self) -> dict[str, Any]:
        return self._schema


class _IntentTool(AsyncBaseTool):
    def __init__(self, tool: Tool) -> None:
        self._tool, self._metadata = tool, _Metadata(tool)

    @property
    def metadata(self) -> ToolMetadata:
        return self._metadata

    def call(self, *_: Any, **parameters: Any) -> ToolOutput:
        return self._output(self._tool.call(parameters), parameters)

    async def acall(self, *_: Any, **parameters: Any) -> ToolOutput:
        return self._output(await self._tool.acall(parameters), parameters)

    def _output(self, text: str, parameters: dict[str, Any]) -> ToolOutput:
        return ToolOutput(
            content=text, tool_name=self._tool.name, raw_input=parameters, raw_output=text, is_error=text.startswith('{"error": ')
        )
