"""Runs the samples of the documentation, and the adapters for frameworks."""

import asyncio
import contextlib
import importlib.util
import io
import json
import os
import re
import sys
import unittest
from pathlib import Path
from unittest import mock

from tests.support import ORDER, SEARCH, URL, GatewayTest
from uimgate import AsyncUimClient, Budget, Key, ParametersError
from uimgate._tools import tools_of

DOCS = Path(__file__).parents[3] / "docs/for-agents"
for package in ("langchain_core", "llama_index", "agents", "pydantic_ai", "mcp"):
    if importlib.util.find_spec(package) is None:
        sys.path.append(str(Path(__file__).parent / "standins"))
        break


def samples(page, heading=""):
    text = page.read_text("utf-8")
    text = text[text.index(heading) :] if heading else text
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


class Samples(GatewayTest):
    def run_samples(self, page, heading, least):
        found, names, out = samples(page, heading), {"__name__": "sample"}, io.StringIO()
        self.assertGreaterEqual(len(found), least)
        with mock.patch.dict(os.environ, {"HOME": str(self.dir)}), contextlib.redirect_stdout(out):
            for number, sample in enumerate(found):
                with self.subTest(page=page.name, sample=number):
                    exec(compile(sample.replace('"shop.example"', repr(URL)), f"{page.name} {number}", "exec"), names)  # noqa: S102
        if "shop" in names:
            names["shop"].close()
        return out.getvalue()

    def test_python(self):
        out = self.run_samples(DOCS / "python.md", "", 6)
        for want in ("'query': 'lamp'", "0.25", "costs at most 0.25 EUR", "MISSING_PARAMETER", "/parameters/qery"):
            self.assertIn(want, out)

    def test_readme(self):
        [sample] = samples(Path(__file__).parents[1] / "README.md")
        sample = sample.replace('place-order:v1", {"product_id": "desk-lamp", "quantity": 1}', 'order:v1", {"product": "lamp"}')
        with mock.patch.dict(os.environ, {"HOME": str(self.dir)}), contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(sample.replace('"shop.example"', repr(URL)), "README.md", "exec"), {})  # noqa: S102
        self.assertIn("Amount(nano=250000000", out.getvalue())

    def test_frameworks(self):
        out = self.run_samples(DOCS / "frameworks.md", "## Python", 7)
        for want in (
            'search_v1 {"query": "lamp"}',
            '{"product": "lamp"}',
            "['search_v1', 'order_v1']",
            "TASK_STATE_COMPLETED",
            "structuredContent",
        ):
            self.assertIn(want, out)


class Adapters(GatewayTest):
    def test_refusals_are_for_the_model(self):
        from uimgate.langchain import tools

        search, order = tools(self.agreed(budget=Budget("0.25 EUR/day")))
        self.assertEqual(json.loads(search.invoke({"query": "lamp"})), {"query": "lamp"})
        wrong = json.loads(search.invoke({"qery": "lamp"}))
        self.assertEqual({v["pointer"] for v in wrong["violations"]}, {"/parameters/qery", "/parameters/query"})
        self.assertEqual(search.args_schema["required"], ["query"])
        order.invoke({"product": "lamp"})
        self.assertIn("budget", json.loads(order.invoke({"product": "lamp"}))["error"])

    def test_openai(self):
        from uimgate.openai_agents import tools

        async def run():
            async with await AsyncUimClient.discover(URL, key=Key.generate(), budget=Budget("1 EUR/day")) as client:
                await client.agree((await client.policy()).digest)
                [order] = tools(client, only=[ORDER])
                self.assertEqual(await order.on_invoke_tool(None, '{"product": "lamp"}'), '{"product": "lamp"}')
                self.assertIn("not valid", await order.on_invoke_tool(None, '{"product"'))

        asyncio.run(run())

    def test_only(self):
        client = self.client()
        client.agree(client.policy().digest, scope=[SEARCH])
        self.assertEqual([t.name for t in tools_of(client, None, None, None)], ["search_v1"])
        with self.assertRaises(ParametersError):
            tools_of(client, ["shop.example:none:v1"], None, None)

    def test_adapters_are_small(self):
        for name in ("langchain", "llamaindex", "openai_agents", "pydantic_ai"):
            lines = (Path(__file__).parents[1] / f"src/uimgate/{name}.py").read_text().splitlines()
            self.assertLess(len(lines), 80, name)


if __name__ == "__main__":
    unittest.main()
