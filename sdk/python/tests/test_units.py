"""Parts that need no service."""

import json
import multiprocessing
import socket
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import httpx

from uimgate import AddressError, Budget, BudgetError, DiscoveryError, FileError, GuardedTransport, Key, OptionsError, Policy, Price, Sunset
from uimgate._answers import Answer, read_result
from uimgate._discovery import agents_urls, speaks_for, txt_query, txt_records
from uimgate._json import canonical
from uimgate._money import Amount
from uimgate._network import check_url, is_public
from uimgate._terms import same_terms


def spend(path):
    for _ in range(10):
        Budget("100 EUR/day", path=path).reserve(Amount.parse("0.01 EUR"))


class Files(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.dir = Path(held.name)

    def test_key_files(self):
        path = self.dir / "deep" / "agent.pem"
        with self.assertRaises(FileError):
            Key.from_file(path)
        key = Key.from_file(path, create=True)
        self.assertEqual(Key.from_file(path, create=True).thumbprint, key.thumbprint)
        self.assertEqual((path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777), (0o600, 0o700))
        path.chmod(0o640)
        with self.assertRaisesRegex(FileError, "chmod 600"):
            Key.from_file(path)
        path.chmod(0o600)
        path.write_bytes(b"-----BEGIN PRIVATE KEY-----\n" + b"A" * 70000)
        with self.assertRaisesRegex(FileError, "larger than"):
            Key.from_file(path)

    def test_key_of_the_environment(self):
        path = self.dir / "agent.pem"
        key = Key.from_file(path, create=True)
        import base64

        for text in (path.read_text(), base64.b64encode(path.read_bytes()).decode()):
            with mock.patch.dict("os.environ", {"UIMGATE_KEY": text}):
                self.assertEqual(Key.from_env().thumbprint, key.thumbprint)
        for text in ("", "hello world", "A" * 200000):
            with mock.patch.dict("os.environ", {"UIMGATE_KEY": text}), self.assertRaises(FileError):
                Key.from_env()

    def test_a_signer_that_signs_wrongly(self):
        key, other = Key.generate(), Key.generate()
        for sign in (other.sign, lambda _: b"", lambda _: "text"):
            with self.assertRaises(OptionsError):
                Key.from_signer(key.pem, sign).sign_jws({}, {})
        with self.assertRaises(OptionsError):
            Key.from_signer("no key", key.sign)

    def test_processes_share_a_budget(self):
        path = self.dir / "spent.json"
        workers = [multiprocessing.get_context("spawn").Process(target=spend, args=(path,)) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        with self.assertRaisesRegex(BudgetError, "0.30 EUR of the budget"):
            Budget("0.30 EUR/day", path=path).reserve(Amount.parse("0.01 EUR"))

    def test_a_damaged_budget_stops_everything(self):
        path = self.dir / "spent.json"
        for text in (
            "{",
            "[]",
            '{"version": 2, "spent": {}}',
            '{"version": 1, "spent": {"EUR": {"day": {"from": "x", "nano": 1}}}}',
            '{"version": 1, "spent": {"EUR": {"day": {"from": "2026-11-21T00:00:00Z", "nano": -1}}}}',
        ):
            path.write_text(text)
            path.chmod(0o600)
            with self.assertRaisesRegex(FileError, "damaged"):
                Budget("1 EUR/day", path=path).reserve(Amount.parse("0.01 EUR"))

    def test_budgets(self):
        for text in ("5 EUR", "5 EUR/year", "5/day", "-5 EUR/day", "5 eur/day", "", "5 EUR/day/day", "0.0000000001 EUR/day"):
            with self.assertRaises(OptionsError):
                Budget(text)
        budget = Budget("1 EUR/day")
        unknown = budget.reserve(None)
        budget.settle(unknown, Amount.parse("1 EUR"))
        with self.assertRaises(BudgetError):
            budget.reserve(None)


class Prices(unittest.TestCase):
    def price(self, *permissions, **more):
        return Policy.read(canonical({"uid": "u", "permission": list(permissions)} | more)).price_of("s:a:v1")

    def test_prices(self):
        pay = {"action": "pay", "amount": "0.05", "unit": "http://example.com/vocab/EUR"}
        rule = {"target": "s:a:v1", "action": "execute"}
        every = {"target": "https://s/api/intents", "action": "execute"}
        for permissions, want in (
            ([rule], "free"),
            ([every], "free"),
            ([], "forbidden"),
            ([rule | {"target": "s:b:v1"}], "forbidden"),
            ([rule | {"duty": pay}], "at most 0.05 EUR"),
            ([rule | {"duty": [pay, {"action": "signPayload"}]}], "at most 0.05 EUR"),
            ([rule, every | {"duty": [pay | {"amount": "0.07"}]}], "at most 0.07 EUR"),
            ([rule | {"duty": [pay, pay]}], "unknown"),
            ([rule | {"duty": pay | {"constraint": []}}], "unknown"),
            ([rule | {"duty": {"action": "compensate"}}], "unknown"),
            ([rule | {"duty": pay | {"amount": "1e400"}}], "unknown"),
            ([rule | {"surprise": 1}], "unknown"),
            (["urn:elsewhere"], "unknown"),
            ([rule | {"duty": pay}, rule | {"duty": pay | {"unit": "USD"}}], "unknown"),
            ([{"action": "execute"}], "unknown"),
            ([rule | {"duty": pay | {"amount": 0.05}}], "at most 0.05 EUR"),
        ):
            with self.subTest(permissions=permissions):
                self.assertEqual(str(self.price(*permissions)), want)
        self.assertEqual(self.price(rule, obligation={"action": "pay"}), Price("unknown"))


def message(*records, code=0, questions=1):
    """Returns a response of a DNS server: pairs of type and data."""
    question = b"\x04_uim\x04shop\x07example\0" + b"\0\x10\0\x01"
    answers = b"".join(
        b"\xc0\x0c" + kind.to_bytes(2, "big") + b"\0\x01\0\0\0\x3c" + len(data).to_bytes(2, "big") + data for kind, data in records
    )
    return (
        b"\0\0\x81"
        + bytes([0x80 | code])
        + questions.to_bytes(2, "big")
        + len(records).to_bytes(2, "big")
        + b"\0\0\0\0"
        + question
        + answers
    )


class Discovery(unittest.TestCase):
    def test_records(self):
        text = b"uim-agents=https://gw.shop.example/agents.json"
        split = bytes([10]) + text[:10] + bytes([len(text) - 10]) + text[10:]
        found = txt_records(message((5, b"\xc0\x0c"), (16, split), (16, b"\x05v=spf")))
        self.assertEqual(agents_urls(found, "uim-agents"), ["https://gw.shop.example/agents.json"])
        self.assertEqual(
            agents_urls(["uim-agents=ftp://x", "uim-agents", "UIM-Agents = https://a/ ", "other=https://b"], "uim-agents"), ["https://a/"]
        )
        self.assertEqual(txt_records(message(code=3)), [])
        for broken in (b"", b"\0" * 11, message((16, split))[:-5], message(code=2), b"\0\0\x81\x80\0\x01\0\x01" + b"\x3f" * 20):
            with self.assertRaises(DiscoveryError):
                txt_records(broken)
        self.assertIn(b"\x04_uim\x04shop\x07example\0\0\x10\0\x01", txt_query("_uim.shop.example"))
        for name in ("a..b", "x" * 64 + ".example", "a." * 130 + "example"):
            with self.assertRaises(OptionsError):
                txt_query(name)

    def test_terms(self):
        table = json.loads((Path(__file__).parents[3] / "evidence" / "testdata" / "terms.json").read_text("utf-8"))
        self.assertGreaterEqual(len(table["cases"]), 20)
        before = table["policy"]
        for case in table["cases"]:
            with self.subTest(case["name"]):
                after = before.replace(case["from"], case["to"], 1)
                self.assertNotEqual(before, after)
                for first, second in ((before, after), (after, before)):
                    self.assertEqual(same_terms(first.encode(), second.encode(), table["intent"]), case["same"])

    def test_sunset(self):
        digest, end = "sha-256:" + "A" * 43, {"Sunset": "Fri, 01 Jan 2027 00:00:00 GMT"}
        successor = 'rel="successor-version"'
        for name, headers, want in (
            ("no end", {}, None),
            ("not a date", {"Sunset": "soon"}, None),
            ("an intent", end, Sunset(1798761600, False)),
            (
                "an intent with a successor",
                end | {"Link": f'<https://a.example/x>; rel="help", <https://shop.example/api/intents/shop.example:order:v2>; {successor}'},
                Sunset(1798761600, False, "shop.example:order:v2"),
            ),
            (
                "terms with a successor",
                end | {"Deprecation": "@1790000000", "Link": f"<https://shop.example/api/policy?digest={digest}>; {successor}"},
                Sunset(1798761600, True, "", digest),
            ),
            ("a link that is not one", end | {"Link": f"<http://[/%zz>; {successor}"}, Sunset(1798761600, False)),
            ("a path without a uid", end | {"Link": f"<https://shop.example/%zz>; {successor}"}, Sunset(1798761600, False)),
        ):
            with self.subTest(name):
                self.assertEqual(read_result(Answer(200, httpx.Headers(headers), b"{}")).sunset, want)

    def test_names(self):
        self.assertTrue(speaks_for("shop.example", "shop.example") and speaks_for("shop.example", "eu.shop.example"))
        self.assertFalse(
            speaks_for("shop.example", "myshop.example") or speaks_for("eu.shop.example", "shop.example") or speaks_for("", "x")
        )


class Addresses(unittest.TestCase):
    def test_addresses(self):
        for address in ("8.8.8.8", "2606:4700::1", "64:ff9b::808:808", "::ffff:8.8.8.8"):
            self.assertTrue(is_public(address), address)
        for address in (
            "127.0.0.1",
            "10.1.2.3",
            "169.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
            "::1",
            "fd00:ec2::254",
            "fe80::1%eth0",
            "::",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "0.0.0.0",
            "224.0.0.1",
            "192.0.2.1",
            "x",
        ):
            self.assertFalse(is_public(address), address)

    def test_urls(self):
        for url, named_by in (
            ("https://shop.example/a", None),
            ("http://127.0.0.1:1/", None),
            ("http://localhost/", "http://127.0.0.1/"),
            ("https://8.8.8.8/", "https://shop.example/"),
        ):
            check_url(url, named_by, False)
        for url, named_by in (
            ("http://shop.example/", None),
            ("ftp://shop.example/", None),
            ("https://user@shop.example/", None),
            ("https://10.0.0.1/", None),
            ("http://127.0.0.1/", "https://shop.example/"),
            ("https://[fd00::1]/", None),
            ("https:///x", None),
            ("https://shop.example/\r\nX: y", None),
            ("https://169.254.169.254/latest", "https://shop.example/"),
            ("https://x:99999/", None),
        ):
            with self.assertRaises(AddressError, msg=url):
                check_url(url, named_by, False)

    def test_names_that_resolve_to_private_addresses(self):
        def resolve(*addresses):
            return lambda *_, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in addresses]

        with GuardedTransport() as transport, httpx.Client(transport=transport) as client:
            for addresses in (["10.0.0.1"], ["127.0.0.1"], ["8.8.8.8", "169.254.169.254"], ["192.168.1.1"]):
                with mock.patch("socket.getaddrinfo", resolve(*addresses)), self.assertRaises(AddressError):
                    client.get("https://rebinding.example/")


if __name__ == "__main__":
    unittest.main()
