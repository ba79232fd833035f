"""ClientSession of the MCP SDK, without streams of the server."""

from types import SimpleNamespace


class ClientSession:
    def __init__(self, read, write):
        self._send = write

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

    async def initialize(self):
        return await self._send(
            "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        )

    async def list_tools(self):
        result = await self._send("tools/list", {})
        return SimpleNamespace(tools=[SimpleNamespace(**tool) for tool in result["tools"]])

    async def call_tool(self, name, arguments):
        return SimpleNamespace(**await self._send("tools/call", {"name": name, "arguments": arguments}))
