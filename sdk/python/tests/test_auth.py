"""Requests of other libraries: MCP, A2A, and plain httpx."""

import asyncio
import unittest
import uuid

import httpx

from tests.support import ORDER, SEARCH, URL, GatewayTest, Service, control, counts
from uimgate import AsyncUimClient, Budget, BudgetError, Key, UimClient
from uimgate.auth import AsyncUimTransport, UimAuth, UimTransport


def tool_call(name, arguments):
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def message(uid, parameters, text=False):
    data = {"intent_uid": uid, "parameters": parameters}
    part = {"text": httpx.Request("POST", "http://x", json=data).content.decode()} if text else {"data": data}
    return {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "SendMessage",
        "params": {"message": {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [part]}},
    }


A2A = {"A2A-Version": "1.0"}


class AuthTest(GatewayTest):
    def senders(self, client, **options):
        """Returns a client of httpx with the authentication, and one with the transport."""
        made = [httpx.Client(auth=UimAuth(client, **options), trust_env=False), httpx.Client(transport=UimTransport(client, **options))]
        for one in made:
            self.addCleanup(one.close)
        return made

    def test_mcp(self):
        client = self.agreed()
        url = client.endpoints["uim-mcp"]
        for sender in self.senders(client):
            tools = sender.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).json()["result"]["tools"]
            names = {next(v["uid"] for k, v in t["_meta"].items() if k.endswith("/intent")): t["name"] for t in tools}
            free = sender.post(url, json=tool_call(names[SEARCH], {"query": "lamp"})).json()
            self.assertEqual(free["result"]["structuredContent"], {"query": "lamp"})
            paid = sender.post(url, json=tool_call(names[ORDER], {"product": "für Zoë"})).json()
            self.assertEqual(paid["result"].get("structuredContent"), {"product": "für Zoë"}, paid)
            self.assertIn("0.25 EUR", paid["result"]["_meta"]["UIM-Charge"])
            uid = sender.post(url, json=tool_call(ORDER, {"product": "lamp"})).json()  # the UID is a name, too
            self.assertEqual(uid["result"].get("structuredContent"), {"product": "lamp"}, uid)

    def test_a2a(self):
        client = self.agreed()
        url = client.endpoints["uim-a2a"]
        for sender in self.senders(client):
            for text in (False, True):
                task = sender.post(url, json=message(ORDER, {"product": "lamp"}, text), headers=A2A).json()["result"]["task"]
                self.assertEqual(task["status"]["state"], "TASK_STATE_COMPLETED", task)

    def test_execute(self):
        client = self.agreed()
        url = client.endpoints["uim-api-execute"]
        for sender in self.senders(client):
            answer = sender.post(url, json={"intent_uid": ORDER, "parameters": {"product": "lamp"}})
            self.assertEqual((answer.status_code, answer.json()), (200, {"product": "lamp"}))
            answer = sender.post(url + "/" + ORDER, json={"parameters": {"product": "lamp"}})
            self.assertEqual((answer.status_code, answer.json()), (200, {"product": "lamp"}))

    def test_budget(self):
        for number in range(2):
            client = self.agreed(budget=Budget("0.50 EUR/day"))
            url, before = client.endpoints["uim-a2a"], counts()["upstream"]
            sender = self.senders(client)[number]
            control("/set", reject="1")
            sender.post(url, json=message(ORDER, {"product": "lamp"}), headers=A2A)  # nothing is charged
            control("/set")
            for _ in range(2):
                sender.post(url, json=message(ORDER, {"product": "lamp"}), headers=A2A)
            with self.assertRaises(BudgetError):
                sender.post(url, json=message(ORDER, {"product": "lamp"}), headers=A2A)
            self.assertEqual(counts()["upstream"] - before, 3)

    def test_calls_without_a_known_price(self):
        client = self.agreed()
        call = {"intent_uid": "shop.example:absent:v1", "parameters": {}}
        for sender in self.senders(client):
            for _ in range(2):
                answer = sender.post(client.endpoints["uim-api-execute"], json=call)
                self.assertEqual((answer.status_code, answer.json()["error"]["details"]["reason"]), (404, "INTENT_NOT_FOUND"))

        async def run():
            async with await AsyncUimClient.discover(URL, key=Key.generate(), budget=Budget("1 EUR/day")) as client:
                await client.agree((await client.policy()).digest)
                for made in (
                    httpx.AsyncClient(auth=UimAuth(client), trust_env=False),
                    httpx.AsyncClient(transport=AsyncUimTransport(client)),
                ):
                    async with made as sender:
                        answers = await asyncio.gather(*(sender.post(client.endpoints["uim-api-execute"], json=call) for _ in range(2)))
                        self.assertEqual([answer.status_code for answer in answers], [404, 404])

        asyncio.run(run())

    def test_a_token_that_ended_is_renewed(self):
        client = self.agreed()
        control("/pass", d="2h")
        self.addCleanup(control, "/pass", d="-2h")
        for sender in self.senders(client):
            answer = sender.post(client.endpoints["uim-api-execute"], json={"intent_uid": SEARCH, "parameters": {"query": "lamp"}})
            self.assertEqual((answer.status_code, answer.json()), (200, {"query": "lamp"}))

    def test_other_origins_get_no_token(self):
        other = Service(self, lambda *_: (200, {"Content-Type": "application/json"}, b"{}"))
        client = self.agreed()
        for sender in self.senders(client):
            for follow in (False, True):
                other.seen.clear()
                sender.post(other.url + "/mcp", json=tool_call("order_v1", {"product": "lamp"}))
                control("/set", redirect=other.url + "/steal")
                sender.post(client.endpoints["uim-mcp"], json=tool_call("order_v1", {"product": "lamp"}), follow_redirects=follow)
                control("/set")
                self.assertEqual(len(other.seen), 1 + follow)
                for _, _, headers, _ in other.seen:
                    self.assertNotIn("Authorization", headers)
        moved = [h for _, p, h, _ in other.seen if p == "/steal"]
        self.assertTrue(moved)
        self.assertNotIn("UIM-Proof", {k: v for h in moved for k, v in h.items()})  # the last sender is the transport

    def test_without_an_agreement_nothing_is_added(self):
        client = self.client()
        for sender in self.senders(client):
            answer = sender.post(client.endpoints["uim-api-execute"], json={"intent_uid": SEARCH, "parameters": {"query": "lamp"}})
            self.assertEqual((answer.status_code, answer.json()["error"]["details"]["reason"]), (401, "MISSING_TOKEN"))

    def test_async(self):
        async def run():
            async with await AsyncUimClient.discover(URL, key=Key.generate(), budget=Budget("1 EUR/day")) as client:
                await client.agree((await client.policy()).digest)
                for made in (
                    httpx.AsyncClient(auth=UimAuth(client), trust_env=False),
                    httpx.AsyncClient(transport=AsyncUimTransport(client)),
                ):
                    async with made as sender:
                        task = await sender.post(client.endpoints["uim-a2a"], json=message(ORDER, {"product": "lamp"}), headers=A2A)
                        self.assertEqual(task.json()["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED")

        asyncio.run(run())

    def test_the_kinds_of_clients_do_not_mix(self):
        client = self.agreed()
        self.assertIsInstance(client, UimClient)

        async def run():
            async with httpx.AsyncClient(auth=UimAuth(client)) as sender:
                with self.assertRaises(ValueError):
                    await sender.get(client.endpoints["uim-api-execute"])

        asyncio.run(run())


if __name__ == "__main__":
    unittest.main()
