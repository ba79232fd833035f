"""The typed code that uimgate types writes."""

import asyncio
import os
import sys
import unittest

from tests.support import URL, GatewayTest
from uimgate import AsyncUimClient, Budget, Key, ParameterError

sys.path.append(os.environ.get("UIMGATE_STUBS", ""))


class StubsTest(GatewayTest):
    def test_calls(self):
        from shop_stubs import Shop

        shop = Shop(self.agreed())
        self.assertEqual(shop.search_v1({"query": "lamp"}).output, {"query": "lamp"})
        ordered = shop.order_v1({"product": "lamp"}, idempotency_key="order-1")
        self.assertEqual((str(ordered.charge.amount), ordered.idempotency_key), ("0.25 EUR", "order-1"))
        with self.assertRaises(ParameterError):
            shop.order_v1({})

    def test_async(self):
        from shop_stubs import AsyncShop

        async def run():
            async with await AsyncUimClient.discover(URL, key=Key.generate(), budget=Budget("1 EUR/day")) as client:
                await client.agree((await client.policy()).digest)
                return (await AsyncShop(client).order_v1({"product": "lamp"})).output

        self.assertEqual(asyncio.run(run()), {"product": "lamp"})


if __name__ == "__main__":
    unittest.main()
