from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Optional


@dataclass
class ToolMetadata:
    description: str
    name: Optional[str] = None
    fn_schema: Any = None


@dataclass
class ToolOutput:
    content: str
    tool_name: str
    raw_input: dict
    raw_output: Any
    is_error: bool = False


class BaseTool(ABC):
    @property
    @abstractmethod
    def metadata(self):
        ...

    @abstractmethod
    def __call__(self, input):
        ...  # noqa: A002


class AsyncBaseTool(BaseTool):
    def __call__(self, *args, **kwargs):
        return self.call(*args, **kwargs)

    @abstractmethod
    def call(self, *args, **kwargs):
        ...

    @abstractmethod
    async def acall(self, *args, **kwargs):
        ...
