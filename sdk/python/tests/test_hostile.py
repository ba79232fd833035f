"""Services that answer anything but what the protocol states."""

import json
import tempfile
import unittest

from tests.support import ORDER, POLICY, SEARCH, Service
from uimgate import (
    AddressError,
    Budget,
    BudgetError,
    DiscoveryError,
    IssuerError,
    Key,
    LostError,
    NetworkError,
    OutcomeUnknownError,
    PolicyChangedError,
    RefusalError,
    ResponseError,
    UimClient,
    UimError,
)
from uimgate._keys import b64
from uimgate._policy import Policy

JSON = {"Content-Type": "application/json"}


class Shop:
    """A service whose answers a test replaces by path. It does not verify anything."""

    def __init__(self, test, **answers):
        self.answers, self.members = answers, {}
        self.policy = json.dumps(POLICY).encode()
        self.service = Service(test, self.respond)
        self.url, self.seen = self.service.url, self.service.seen

    def respond(self, _, method, path):
        path = path.partition("?")[0]
        name = path.rpartition("/")[2].replace(".json", "").replace("-", "_")
        if name in self.answers:
            answer = self.answers[name]
            return answer(self) if callable(answer) else answer
        if name == "agents":
            intents = [{"intent_uid": uid, "endpoint": {"method": m}} for uid, m in ((SEARCH, "GET"), (ORDER, "POST"))]
            return 200, JSON, json.dumps({"uim-issuer": "shop.example", "intents": intents} | self.members).encode()
        if name == "policy":
            return 200, JSON, self.policy
        if name in ("issue", "renew"):
            return 200, JSON, json.dumps({"uim-pat": self.token(), "expires_at": "2099-01-01T00:00:00Z", "agreement_id": "a"}).encode()
        return 404, JSON, b"{}"

    def token(self, **more):
        claims = {"jti": "jti-1", "pol_digest": Policy.read(self.policy).digest} | more
        return ".".join((b64(b'{"alg":"EdDSA"}'), b64(json.dumps(claims).encode()), b64(b"x" * 64)))

    def calls(self):
        return sum(path.endswith("/execute") for _, path, _, _ in self.seen)


class HostileTest(unittest.TestCase):
    def client(self, shop, **options):
        found = UimClient.discover(shop.url, **({"key": Key.generate(), "budget": Budget("1 EUR/day"), "max_wait": 0.0} | options))
        self.addCleanup(found.close)
        return found

    def agreed(self, shop, **options):
        client = self.client(shop, **options)
        client.agree(client.policy().digest)
        return client

    def test_agents_files(self):
        for name, answer in {
            "HTML": (200, {"Content-Type": "text/html"}, b"<!doctype html>"),
            "half": (200, JSON, b'{"intents": ['),
            "empty": (200, JSON, b""),
            "another": (200, JSON, b'{"intents": {}}'),
            "a list": (200, JSON, b"[]"),
            "large": (200, JSON, b" " * (17 << 20)),
            "nothing": None,
            "deep": (200, JSON, b"[" * 100000),
            "a redirect": (302, {"Location": "http://10.0.0.1/agents.json"}, b""),
            "a loop": (302, {"Location": "/agents.json"}, b""),
            "an error": (500, JSON, b'{"error": {"code": "X"}}'),
            "twice": (200, JSON, b'{"intents": [], "intents": []}'),
            "compressed": (200, JSON | {"Content-Encoding": "gzip"}, b"x"),
        }.items():
            with self.subTest(name), self.assertRaises(DiscoveryError):
                self.client(Shop(self, agents=answer))

    def test_policies(self):
        for name, answer in {
            "HTML": (200, {"Content-Type": "text/html"}, b"<p>"),
            "half": (200, JSON, b'{"uid": '),
            "large": (200, JSON, b" " * (10 << 20)),
            "inexact": (200, JSON, b'{"uid": "u", "limit": 9007199254740993}'),
            "gone": (404, JSON, b"{}"),
            "nothing": None,
        }.items():
            with self.subTest(name), self.assertRaises((RefusalError, NetworkError)):
                self.client(Shop(self, policy=answer)).policy()

    def test_agreements(self):
        for name, answer, want in (
            ("HTML", (200, {"Content-Type": "text/html"}, b"<p>"), NetworkError),
            ("half", (200, JSON, b'{"uim-pat": "'), NetworkError),
            ("large", (200, JSON, b" " * (10 << 20)), NetworkError),
            ("nothing", None, NetworkError),
            ("a line break", (200, JSON, b'{"uim-pat": "a\\r\\nX-Injected: 1"}'), NetworkError),
            (
                "another policy",
                lambda shop: (200, JSON, json.dumps({"uim-pat": shop.token(pol_digest="sha-256:" + "A" * 43)}).encode()),
                PolicyChangedError,
            ),
            ("another key", lambda shop: (200, JSON, json.dumps({"uim-pat": shop.token(cnf={"jkt": "A" * 43})}).encode()), NetworkError),
            ("a redirect", (307, {"Location": "https://elsewhere.example/"}, b""), RefusalError),
            ("an error", (500, JSON, b"{"), RefusalError),
        ):
            with self.subTest(name):
                client = self.client(Shop(self, issue=answer))
                with self.assertRaises(want):
                    client.agree(client.policy().digest)
                self.assertIsNone(client.agreement)

    def test_addresses_in_agents_files(self):
        for url in ("http://10.0.0.1/issue", "ftp://shop.example/issue", "https://169.254.169.254/", "http://shop.example/issue"):
            shop = Shop(self)
            shop.members["uim-pat-issue"] = url
            with self.subTest(url), self.assertRaises(AddressError):
                client = self.client(shop)
                client.agree(client.policy().digest)

    def test_issuers(self):
        shop = Shop(self)
        client = self.client(shop)
        client._agreements.catalog.url = client._agreements.catalog.url.replace("127.0.0.1", "evil.example")
        client._agreements.target = type(client._agreements.target)(("https://evil.example/agents.json",), "evil.example")
        with self.assertRaises(IssuerError):
            client.agree(lambda _: True)
        self.assertFalse(any(path.endswith("/issue") for _, path, _, _ in shop.seen))

    def test_results_that_cannot_be_used_are_not_repeated(self):
        charge = {"UIM-Charge": "0.25 EUR; id=e-1; state=captured"}
        for name, answer in {
            "HTML": (200, {"Content-Type": "text/html"} | charge, b"<p>"),
            "half": (200, JSON | charge, b'{"a": '),
            "twice": (200, JSON | charge, b'{"a": 1, "a": 2}'),
            "deep": (200, JSON | charge, b"[" * 100000),
        }.items():
            with self.subTest(name):
                shop = Shop(self, execute=answer)
                client = self.agreed(shop, budget=Budget("0.25 EUR/day"))
                with self.assertRaises(ResponseError) as caught:
                    client.execute(ORDER, {})
                self.assertEqual((caught.exception.charge.id, caught.exception.refusal.outcome, shop.calls()), ("e-1", "done", 1))
                with self.assertRaises(BudgetError):
                    client.execute(ORDER, {})

    def test_results_that_are_too_large(self):
        shop = Shop(self, execute=(200, JSON, b" " * (10 << 20)))
        client = self.agreed(shop, max_attempts=2, max_wait=5.0)
        with self.assertRaises(LostError):
            client.execute(ORDER, {})
        keys = {headers["Idempotency-Key"] for _, path, headers, _ in shop.seen if path.endswith("/execute")}
        self.assertEqual(len(keys), 1)

    def test_charges_beyond_the_policy_are_counted(self):
        shop = Shop(self, execute=(200, JSON | {"UIM-Charge": "0.60 EUR; id=e-1; state=captured"}, b"{}"))
        client = self.agreed(shop)
        client.execute(ORDER, {})
        self.assertEqual(str(client.price_of(ORDER)), "at most 0.60 EUR")
        with self.assertRaises(BudgetError):
            client.execute(ORDER, {})
        self.assertEqual(shop.calls(), 1)

    def test_failures(self):
        def failed(status, **details):
            return status, JSON, json.dumps({"error": {"code": "X", "details": details}}).encode()

        for answer, want, calls, free in (
            (failed(504, reason="UPSTREAM_TIMEOUT", outcome="unknown"), OutcomeUnknownError, 1, False),
            (failed(409, reason="OUTCOME_UNKNOWN"), OutcomeUnknownError, 1, False),
            (failed(502, reason="UPSTREAM_ERROR", outcome="failed"), RefusalError, 1, True),
            (failed(502, reason="UPSTREAM_ERROR", outcome="done"), RefusalError, 1, False),
            (failed(503, reason="STORE_UNAVAILABLE", outcome="not_sent"), RefusalError, 3, True),
            (failed(500), LostError, 3, False),
            (failed(429, reason="QUOTA_EXCEEDED"), RefusalError, 1, True),
            (failed(403, reason="AGENT_BLOCKED"), RefusalError, 1, True),
        ):
            with self.subTest(answer=answer):
                shop = Shop(self, execute=answer)
                client = self.agreed(shop, budget=Budget("0.25 EUR/day"), max_attempts=3, max_wait=30.0)
                with self.assertRaises(want):
                    client.execute(ORDER, {})
                self.assertEqual(shop.calls(), calls)
                shop.answers["execute"] = (200, JSON, b"{}")
                if free:
                    client.execute(ORDER, {})
                else:
                    with self.assertRaises(BudgetError):
                        client.execute(ORDER, {})

    def test_a_renewal_to_another_policy(self):
        shop = Shop(self)
        client = self.agreed(shop)
        shop.answers["renew"] = lambda s: (200, JSON, json.dumps({"uim-pat": s.token(pol_digest="sha-256:" + "A" * 43)}).encode())
        token = client._agreements.session.token
        with self.assertRaises(PolicyChangedError):
            client.renew()
        self.assertEqual(client._agreements.session.token, token)

    def test_receipts(self):
        receipt = b64(b'{"alg":"none"}') + "." + b64(b"{}") + "." + b64(b"x")
        for header, want in (("", []), ("junk", ["SIGNATURE"]), (receipt, ["SIGNATURE"])):
            headers = JSON | {"UIM-Charge": "0.25 EUR; id=e-1; state=captured"} | ({"UIM-Receipt": header} if header else {})
            warnings = []
            client = self.agreed(Shop(self, execute=(200, headers, b"{}")), on_warning=warnings.append)
            result = client.execute(ORDER, {})
            self.assertEqual(([p.name for p in result.discrepancies], len(warnings)), (want, len(want)))

    def test_texts_of_services(self):
        body = json.dumps({"error": {"code": "X", "message": "a\u001b[31m\r\n" + "x" * 5000, "details": {"reason": "Y"}}}).encode()
        client = self.agreed(Shop(self, execute=(400, JSON, body)))
        with self.assertRaises(RefusalError) as caught:
            client.execute(SEARCH, {})
        self.assertLess(len(str(caught.exception)), 600)
        self.assertNotRegex(str(caught.exception), r"[\x00-\x1f]")

    def test_damaged_sessions(self):
        with tempfile.TemporaryDirectory() as directory:
            shop, key = Shop(self), Key.generate()
            self.agreed(shop, key=key, directory=directory)
            import pathlib

            [path] = pathlib.Path(directory).glob("*.python.json")
            path.write_text('{"version": 1}')
            with self.assertRaisesRegex(UimError, "damaged"):
                self.client(shop, key=key, directory=directory)


if __name__ == "__main__":
    unittest.main()
