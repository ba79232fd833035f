"""streamablehttp_client of the MCP SDK, which takes an httpx.Auth."""

from contextlib import asynccontextmanager

import httpx


@asynccontextmanager
async def streamablehttp_client(url, *, auth=None):
    async with httpx.AsyncClient(auth=auth, trust_env=False) as client:

        async def send(method, params):
            answer = await client.post(
                url,
                json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
                headers={"Accept": "application/json, text/event-stream"},
            )
            answer.raise_for_status()
            return answer.json()["result"]

        yield None, send, None
