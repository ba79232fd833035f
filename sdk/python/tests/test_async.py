"""The client for asyncio against a gateway."""

import asyncio
import unittest

from tests.support import ORDER, SEARCH, URL, GatewayTest, requests
from uimgate import Amount, AsyncUimClient, Budget, BudgetError, Key, OptionsError, PolicyChangedError


class AsyncTest(GatewayTest):
    def options(self, **options):
        return {"key": Key.generate(), "budget": Budget("10 EUR/day"), "on_warning": self.warnings.append} | options

    def test_calls(self):
        async def run():
            async with await AsyncUimClient.discover(URL, **self.options(directory=self.dir)) as client:
                policy = await client.policy()

                async def decide(offered):
                    await asyncio.sleep(0)
                    return offered.digest == policy.digest

                await client.agree(decide)
                results = await asyncio.gather(*(client.execute(ORDER, {"product": str(n)}) for n in range(8)))
                self.assertEqual([r.output["product"] for r in results], [str(n) for n in range(8)])
                self.assertEqual({str(r.charge.amount) for r in results}, {"0.25 EUR"})
                self.assertEqual([r.discrepancies for r in results], [()] * 8)
                self.assertEqual(await client.unfinished(), [])
                await client.revoke()

        asyncio.run(run())
        self.assertEqual(self.warnings, [])

    def test_parallel_calls_share_one_renewal(self):
        async def run():
            async with await AsyncUimClient.discover(URL, **self.options()) as client:
                await client.agree((await client.policy()).digest)
                session = client._agreements.session
                session.issued_at -= 10**6
                object.__setattr__(session.agreement, "expires_at", client._settings.clock.now() + 1)
                before = requests("/api/pat/renew")
                await asyncio.gather(*(client.execute(SEARCH, {"query": "lamp"}) for _ in range(16)))
                self.assertEqual(requests("/api/pat/renew") - before, 1)

        asyncio.run(run())

    def test_parallel_calls_keep_to_the_budget(self):
        async def run():
            async with await AsyncUimClient.discover(
                URL, **self.options(budget=Budget("1 EUR/day", path=self.dir / "spent.json"))
            ) as client:
                await client.agree((await client.policy()).digest)
                done = await asyncio.gather(*(client.execute(ORDER, {"product": "lamp"}) for _ in range(8)), return_exceptions=True)
                self.assertEqual(sum(isinstance(d, BudgetError) for d in done), 4, done)
                spent = [str(d.charge.amount) for d in done if not isinstance(d, Exception)]
                self.assertEqual(spent, ["0.25 EUR"] * 4)

        asyncio.run(run())

    def test_a_cancelled_call_keeps_its_reservation(self):
        async def run():
            budget = Budget("0.25 EUR/day")
            async with await AsyncUimClient.discover(URL, **self.options(budget=budget, directory=self.dir)) as client:
                await client.agree((await client.policy()).digest)
                inner = client._driver.exchanger.client._transport
                sent = asyncio.Event()
                handle = inner.handle_async_request

                async def slow(request):
                    response = await handle(request)  # the gateway has made the call
                    sent.set()
                    await asyncio.Event().wait()
                    return response

                inner.handle_async_request = slow
                task = asyncio.ensure_future(client.execute(ORDER, {"product": "lamp"}, idempotency_key="k"))
                await sent.wait()
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                inner.handle_async_request = handle
                with self.assertRaises(BudgetError):
                    await client.execute(ORDER, {"product": "chair"})
                [call] = await client.unfinished()
                self.assertEqual((call.intent, call.idempotency_key), (ORDER, "k"))
                again = await client.execute(ORDER, {"product": "lamp"}, idempotency_key="k")
                self.assertEqual((again.replayed, again.charge.amount), (True, Amount.parse("0.25 EUR")))
                self.assertEqual(await client.unfinished(), [])

        asyncio.run(run())

    def test_policy_that_changes(self):
        async def run():
            async with await AsyncUimClient.discover(URL, **self.options()) as client:
                with self.assertRaises(PolicyChangedError):
                    await client.agree("sha-256:" + "A" * 43)
                self.assertIsNone(client.agreement)
                with self.assertRaises(OptionsError):
                    await client.agree("latest")

        asyncio.run(run())


if __name__ == "__main__":
    unittest.main()
