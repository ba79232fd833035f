"""Tools of llama-index-core 0.11."""

from .types import BaseTool, ToolMetadata, ToolOutput

__all__ = ["BaseTool", "ToolMetadata", "ToolOutput"]
