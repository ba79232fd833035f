"""A gateway whose responses get lost, clocks that are wrong, and processes that are killed."""

import json
import subprocess
import sys
import time
import unittest

from tests.support import ORDER, SEARCH, URL, GatewayTest, control, counts
from uimgate import Amount, Budget, BudgetError, Key, LostError, NetworkError, PolicyChangedError, RefusalError

# Makes a call, and ends the process when the response has arrived: the gateway has charged, and the agent does not know.
KILLED = """
import os, sys
from uimgate import Budget, GuardedTransport, Key, UimClient

class Kill(GuardedTransport):
    def handle_request(self, request):
        response = super().handle_request(request)
        if request.url.path == "/api/intents/execute":
            os._exit(9)
        return response

url, directory = sys.argv[1:]
key = Key.from_file(directory + "/agent.pem", create=True)
budget = Budget("0.30 EUR/day", path=directory + "/spent.json")
client = UimClient.discover(url, key=key, directory=directory, budget=budget, transport=Kill())
client.agree(client.policy().digest)
client.execute("shop.example:order:v1", {"product": "lamp"}, idempotency_key="order-1")
"""


class TroubleTest(GatewayTest):
    def test_lost_responses_are_not_charged_twice(self):
        client = self.agreed(budget=Budget("0.50 EUR/day"))
        before = counts()["upstream"]
        control("/set", lose=2)
        result = client.execute(ORDER, {"product": "lamp"})
        self.assertEqual((result.replayed, result.attempts, counts()["upstream"] - before), (True, 3, 1))
        client.execute(ORDER, {"product": "lamp"})  # the budget counted one call
        with self.assertRaises(BudgetError):
            client.execute(ORDER, {"product": "lamp"})

    def test_a_response_that_stays_lost(self):
        client = self.agreed(budget=Budget("0.25 EUR/day"), max_attempts=2)
        control("/set", lose=2)
        with self.assertRaises(LostError) as caught:
            client.execute(ORDER, {"product": "lamp"}, idempotency_key="order-2")
        self.assertEqual((caught.exception.idempotency_key, type(caught.exception.cause)), ("order-2", NetworkError))
        control("/set")
        with self.assertRaises(BudgetError):
            client.execute(ORDER, {"product": "lamp"})  # the reservation stays

    def test_free_calls_are_sent_once(self):
        client = self.agreed()
        control("/set", lose=1)
        before = counts()["upstream"]
        with self.assertRaises(NetworkError) as caught:
            client.execute(SEARCH, {"query": "lamp"})
        self.assertTrue(caught.exception.sent)
        self.assertEqual(counts()["upstream"] - before, 1)

    def test_a_process_that_is_killed_between_spending_and_the_response(self):
        before = counts()["upstream"]
        killed = subprocess.run([sys.executable, "-c", KILLED, URL, str(self.dir)], capture_output=True, timeout=60)
        self.assertEqual((killed.returncode, counts()["upstream"] - before), (9, 1), killed.stderr.decode())
        path = self.dir / "spent.json"
        self.assertEqual(json.loads(path.read_text())["spent"]["EUR"]["day"]["nano"], 250_000_000)
        client = self.client(key=Key.from_file(self.dir / "agent.pem"), directory=self.dir, budget=Budget("0.30 EUR/day", path=path))
        [call] = client.unfinished()
        self.assertEqual((call.intent, call.idempotency_key), (ORDER, "order-1"))
        with self.assertRaises(BudgetError):
            client.execute(ORDER, {"product": "lamp"})
        result = client.execute(ORDER, {"product": "lamp"}, idempotency_key="order-1")
        self.assertEqual((result.replayed, result.charge.amount), (True, Amount.parse("0.25 EUR")))
        self.assertEqual((counts()["upstream"] - before, client.unfinished()), (1, []))
        self.assertEqual(json.loads(path.read_text())["spent"]["EUR"]["day"]["nano"], 250_000_000)

    def test_clocks_that_are_wrong_by_an_hour(self):
        for hours in (-1, 1):
            with self.subTest(hours=hours):
                self.warnings.clear()
                client = self.agreed(now=lambda hours=hours: time.time() + 3600 * hours)
                self.assertEqual(client.execute(ORDER, {"product": "lamp"}).charge.state, "captured")
                client.renew()
                self.assertEqual(len(self.warnings), 1)
                self.assertIn("60 minutes " + ("behind" if hours < 0 else "ahead of"), self.warnings[0])

    def test_redirects_get_no_token(self):
        client = self.agreed()
        control("/set", redirect="http://127.0.0.1:9/steal")
        for call in (lambda: client.execute(ORDER, {"product": "lamp"}), client.renew, lambda: client.agree(client.policy().digest)):
            with self.assertRaises(RefusalError) as caught:
                call()
            self.assertIn("redirect", str(caught.exception))

    def test_an_outcome_that_is_refused(self):
        client = self.agreed(budget=Budget("0.25 EUR/day"))
        control("/set", reject="1")
        with self.assertRaises(RefusalError) as caught:
            client.execute(ORDER, {"product": "lamp"})
        error = caught.exception
        self.assertEqual((error.reason, error.refusal.upstream, error.charge.state), ("UPSTREAM_REJECTED", "sold out", "released"))
        control("/set")
        self.assertEqual(client.execute(ORDER, {"product": "lamp"}).charge.state, "captured")

    def test_an_unknown_digest(self):
        client = self.client()
        with self.assertRaises(PolicyChangedError):
            client.agree("sha-256:" + "A" * 43)
        self.assertIsNone(client.agreement)


if __name__ == "__main__":
    unittest.main()
