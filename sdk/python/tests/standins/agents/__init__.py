"""Agent and FunctionTool of openai-agents."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class FunctionTool:
    name: str
    description: str
    params_json_schema: dict
    on_invoke_tool: Any
    strict_json_schema: bool = True


@dataclass
class Agent:
    name: str
    instructions: str = ""
    tools: list = field(default_factory=list)
