"""The blocking client against a gateway."""

import json
import threading
import unittest

import httpx

from tests.support import ORDER, SEARCH, GatewayTest, control, counts, offer, offer_plans, requests
from uimgate import (
    Amount,
    ApprovalError,
    Budget,
    BudgetError,
    ConflictError,
    Key,
    LimitError,
    NotAgreedError,
    OptionsError,
    ParameterError,
    ParametersError,
    Policy,
    PolicyChangedError,
    RefusalError,
    TokenError,
    UimClient,
    verify_receipt,
)


class ClientTest(GatewayTest):
    def test_agree_by_digest_and_call(self):
        client = self.client()
        self.assertEqual((client.issuer, [i.uid for i in client.intents]), ("shop.example", [SEARCH, ORDER]))
        with self.assertRaises(NotAgreedError):
            client.execute(SEARCH, {"query": "lamp"})
        policy = client.policy()
        self.assertIn(policy.digest, policy.explain().splitlines()[1])
        self.assertIn("0.25 EUR", policy.explain())
        self.assertEqual(str(policy.price_of(ORDER)), "at most 0.25 EUR")
        agreement = client.agree(policy.digest)
        self.assertEqual((agreement.policy_digest, agreement.scope_omitted), (policy.digest, ()))
        free = client.execute(SEARCH, {"query": "lamp"})
        self.assertEqual((free.output, free.charge, free.idempotency_key, free.attempts), ({"query": "lamp"}, None, "", 1))
        paid = client.execute(ORDER, {"product": "für Zoë <&>"}, idempotency_key="order-1")
        self.assertEqual(
            (paid.output, paid.charge.amount, paid.charge.state), ({"product": "für Zoë <&>"}, Amount.parse("0.25 EUR"), "captured")
        )
        self.assertEqual((paid.discrepancies, paid.receipt.amount, self.warnings), ((), paid.charge.amount, []))
        again = client.execute(ORDER, {"product": "für Zoë <&>"}, idempotency_key="order-1")
        self.assertEqual((again.replayed, again.charge.id, again.output), (True, paid.charge.id, paid.output))
        with self.assertRaises(ConflictError) as caught:
            client.execute(ORDER, {"product": "another"}, idempotency_key="order-1")
        self.assertEqual(caught.exception.reason, "IDEMPOTENCY_KEY_REUSED")
        client.revoke()
        with self.assertRaises(NotAgreedError):
            client.execute(SEARCH, {"query": "lamp"})

    def test_a_kept_receipt_is_verified_without_a_connection(self):
        client = self.agreed()
        jwks = httpx.get(client.endpoints["uim-jwks"], verify=False, trust_env=False).json()
        paid = client.execute(ORDER, {"product": "lamp"})
        receipt, kept = paid.receipt.text, {"intent": ORDER, "parameters": {"product": "lamp"}, "text": paid.text}
        checked = verify_receipt(receipt, jwks, **kept)
        self.assertTrue(checked.ok)
        self.assertEqual((checked.entry["amount"], checked.entry["account"]["agent"]), ("0.25", client.agent_id))
        forged = receipt[:-6] + ("AAAAAA" if receipt[-6:] != "AAAAAA" else "BBBBBB")
        others = {"keys": [key for key in jwks["keys"] if key.get("uim_purpose") != "receipt"]}
        for name, got, want in (
            ("as text", verify_receipt(receipt, json.dumps(jwks), **kept), []),
            ("as bytes", verify_receipt(receipt, json.dumps(jwks).encode(), **kept | {"text": paid.text.encode()}), []),
            ("nothing kept", verify_receipt(receipt, jwks), []),
            ("another call", verify_receipt(receipt, jwks, **kept | {"parameters": {"product": "desk"}}), ["REQUEST"]),
            ("another intent", verify_receipt(receipt, jwks, intent=SEARCH, parameters={"product": "lamp"}), ["REQUEST"]),
            ("no canonical form", verify_receipt(receipt, jwks, intent=ORDER, parameters={"product": float("nan")}), ["REQUEST"]),
            ("another output", verify_receipt(receipt, jwks, **kept | {"text": "{}"}), ["ANSWER"]),
            ("both", verify_receipt(receipt, jwks, intent=ORDER, text=paid.text + " "), ["REQUEST", "ANSWER"]),
            ("another signature", verify_receipt(forged, jwks, **kept), ["SIGNATURE"]),
            ("not a receipt", verify_receipt("receipt", jwks), ["SIGNATURE"]),
            ("keys for other purposes", verify_receipt(receipt, others, **kept), ["KEY"]),
            ("no keys", verify_receipt(receipt, "{}"), ["KEY"]),
        ):
            with self.subTest(name):
                self.assertEqual(([p.name for p in got.problems], got.ok), (want, not want))
                self.assertEqual(got.entry is None, bool({"SIGNATURE", "KEY"} & set(want)))
        with self.assertRaises(OptionsError):
            verify_receipt(receipt, jwks, parameters={})
        with self.assertRaises(OptionsError):
            verify_receipt(receipt, {"keys": {1, 2}})

    def test_plan(self):
        offer_plans()
        client = self.client()
        digest = client.policy().digest
        with self.assertRaises(OptionsError):
            client.agree(digest, plan="free", declared={"plan": ["pro"]})
        with self.assertRaises(RefusalError) as caught:
            client.agree(digest, plan="partner")
        self.assertEqual((caught.exception.reason, caught.exception.refusal.details["plans"]), ("UNKNOWN_PLAN", ["free", "pro"]))
        client.agree(digest)
        with self.assertRaises(RefusalError) as caught:
            client.execute(SEARCH, {"query": "lamp"})
        self.assertEqual(caught.exception.reason, "PLAN_REQUIRED")
        client.agree(digest, plan="free")
        for n in range(2):
            client.execute(SEARCH, {"query": f"lamp {n}"})
        with self.assertRaises(LimitError):
            client.execute(SEARCH, {"query": "lamp 2"})
        client.agree(digest, plan="pro")  # earlier use still counts
        client.execute(SEARCH, {"query": "lamp 3"})
        with self.assertRaises(LimitError):
            client.execute(SEARCH, {"query": "lamp 4"})

    def test_agree_by_decision(self):
        client, seen, before = self.client(), [], requests("/api/pat/issue")
        with self.assertRaises(ApprovalError):
            client.agree(lambda policy: seen.append(policy))
        self.assertEqual((requests("/api/pat/issue"), client.agreement), (before, None))
        client.agree(lambda policy: policy.price_of(ORDER).most == Amount.parse("0.25 EUR"))
        self.assertIsInstance(seen[0], Policy)
        self.assertEqual(client.agreement.policy_digest, seen[0].digest)

    def test_every_type_of_key(self):
        from cryptography.hazmat.primitives.asymmetric import ec, rsa

        vault = Key.generate()
        for key in (
            Key._of(ec.generate_private_key(ec.SECP256R1())),
            Key._of(rsa.generate_private_key(65537, 2048)),
            Key.from_signer(vault.pem, vault.sign),
        ):
            with self.subTest(key=key):
                client = self.agreed(key=key)
                self.assertEqual(client.execute(ORDER, {"product": "lamp"}).discrepancies, ())

    def test_scope(self):
        client = self.client()
        client.agree(client.policy().digest, scope=[SEARCH])
        self.assertEqual(client.agreement.scope, (SEARCH + ":execute",))

    def test_refusals_name_what_is_wrong(self):
        client = self.agreed()
        before = counts()["upstream"]
        with self.assertRaises(ParameterError) as caught:
            client.execute(SEARCH, {"qery": "secret value"})
        error = caught.exception
        self.assertEqual({(v.reason, v.nearest) for v in error.violations}, {("MISSING_PARAMETER", ""), ("UNKNOWN_PARAMETER", "query")})
        self.assertTrue(error.suggestion)
        self.assertNotIn("secret value", f"{error!r} {error} {error.refusal!r}")
        with self.assertRaises(ParametersError) as caught:
            client.execute(SEARCH, {"query": 2**53 + 1})
        self.assertIn("/parameters/query", str(caught.exception))
        self.assertEqual(counts()["upstream"], before)

    def test_policy_that_changes_between_reading_and_agreeing(self):
        client = self.client()
        read, before = client.policy(), requests("/api/pat/issue")
        offer("0.30")
        with self.assertRaises(PolicyChangedError) as caught:
            client.agree(read.digest)
        self.assertEqual((caught.exception.agreed, caught.exception.offered), (read.digest, client.policy().digest))
        self.assertEqual((requests("/api/pat/issue"), client.agreement), (before, None))

        def decide(_):
            offer("0.35")  # changes after it was read, and before it is signed
            return True

        with self.assertRaises(PolicyChangedError):
            client.agree(decide)
        self.assertIsNone(client.agreement)

    def test_policy_that_changes_after_agreeing_is_never_signed(self):
        client = self.agreed()
        offer("0.40")
        before = requests("/api/pat/issue")
        with self.assertRaises(PolicyChangedError) as caught:
            client.execute(ORDER, {"product": "lamp"})
        self.assertTrue(any("0.40" in change for change in caught.exception.changes), caught.exception.changes)
        self.assertEqual(caught.exception.offered, client.policy().digest)
        self.assertEqual(client.execute(SEARCH, {"query": "lamp"}).output, {"query": "lamp"})  # its terms are as they were
        self.assertEqual(requests("/api/pat/issue"), before)

    def test_parallel_calls_share_one_renewal(self):
        client = self.agreed()
        before, token = requests("/api/pat/renew"), client._agreements.session.token
        session = client._agreements.session
        session.issued_at -= 10**6
        object.__setattr__(session.agreement, "expires_at", client._settings.clock.now() + 1)  # due
        failures = []

        def call():
            try:
                client.execute(SEARCH, {"query": "lamp"})
            except Exception as error:  # noqa: BLE001
                failures.append(error)

        threads = [threading.Thread(target=call) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((failures, requests("/api/pat/renew") - before), ([], 1))
        self.assertNotEqual(client._agreements.session.token, token)

    def test_expired_token(self):
        client = self.agreed()
        control("/pass", d="2h")
        self.addCleanup(control, "/pass", d="-2h")
        self.assertEqual(client.execute(SEARCH, {"query": "lamp"}).output, {"query": "lamp"})

    def test_session_outlives_the_process(self):
        key = Key.from_file(self.dir / "agent.pem", create=True)
        self.agreed(key=key, directory=self.dir).close()
        client = self.client(key=Key.from_file(self.dir / "agent.pem"), directory=self.dir)
        self.assertEqual(client.execute(ORDER, {"product": "lamp"}).charge.amount, Amount.parse("0.25 EUR"))
        for path in self.dir.iterdir():
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)

    def test_budget(self):
        client = self.agreed(budget=Budget("0.60 EUR/hour", path=self.dir / "spent.json"))
        client.execute(ORDER, {"product": "lamp"})
        control("/set", reject="1")
        with self.assertRaises(ConflictError):
            client.execute(ORDER, {"product": "lamp"})  # released: it is not counted
        control("/set")
        client.execute(ORDER, {"product": "lamp"})
        before = counts()["upstream"]
        with self.assertRaises(BudgetError) as caught:
            client.execute(ORDER, {"product": "lamp"})
        self.assertIn("0.50 EUR of the budget of 0.60 EUR/hour", str(caught.exception))
        with self.assertRaises(BudgetError):
            client.execute(ORDER, {"product": "lamp"}, budget="0.24 EUR")
        self.assertEqual(client.execute(ORDER, {"product": "lamp"}, budget="0.25 EUR").charge.amount, Amount.parse("0.25 EUR"))
        self.assertEqual(counts()["upstream"], before + 1)
        poor = self.agreed(budget=None)
        with self.assertRaises(BudgetError):
            poor.execute(ORDER, {"product": "lamp"})
        self.assertEqual(poor.execute(SEARCH, {"query": "lamp"}).output, {"query": "lamp"})

    def test_approval(self):
        asked = []

        def approve(call, price):
            asked.append((call.intent, call.parameters, str(price)))
            return call.parameters["product"] == "lamp"

        client = self.agreed(budget=None, approve=approve)
        client.execute(SEARCH, {"query": "lamp"})
        client.execute(ORDER, {"product": "lamp"})
        with self.assertRaises(ApprovalError):
            client.execute(ORDER, {"product": "yacht"})
        self.assertEqual(asked, [(ORDER, {"product": p}, "at most 0.25 EUR") for p in ("lamp", "yacht")])

    def test_a_stolen_token_spends_nothing(self):
        client = self.agreed()
        thief = self.client()
        thief._agreements._session = client._agreements.session
        with self.assertRaises((TokenError, Exception)) as caught:
            thief.execute(ORDER, {"product": "lamp"})
        self.assertIn(caught.exception.reason, ("BAD_SIGNATURE", "POLICY_REQUIRES_VERIFICATION"))

    def test_nothing_prints_a_token(self):
        client = self.agreed()
        session = client._agreements.session
        for thing in (client, session, client.agreement, client._settings.key, client._settings):
            self.assertNotIn(session.token, f"{thing!r} {thing}")


class ReadOnly(GatewayTest):
    def test_without_a_key(self):
        client = self.client(key=None)
        self.assertTrue(client.policy().digest.startswith("sha-256:"))
        with self.assertRaises(ValueError):
            client.agree(client.policy().digest)
        self.assertIsInstance(client, UimClient)


if __name__ == "__main__":
    unittest.main()
