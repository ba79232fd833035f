"""The receipts that the package keeps are verified by the program uimgate."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
import unittest
from pathlib import Path

import httpx

from tests.support import ORDER, SEARCH, URL, GatewayTest, offer
from uimgate import Amount, Budget, Key, UimClient
from uimgate._book import Book, Link, follow
from uimgate.auth import UimTransport

MANY = """
import sys
from uimgate import Budget, Key, UimClient
data, n = sys.argv[1], int(sys.argv[2])
warnings = []
with UimClient.discover(sys.argv[3], key=Key.from_file(data + "/agent.pem"), directory=data, receipts=data + "/agreements/receipts",
                        budget=Budget("1000 EUR/day"), on_warning=warnings.append) as client:
    for i in range(n):
        client.execute(sys.argv[4], {"product": f"lamp-{i}"})
        print(i, flush=True)
sys.exit(str(warnings) if warnings else 0)
"""


class Receipts(GatewayTest):
    def setUp(self):
        super().setUp()
        self.receipts = self.dir / "agreements" / "receipts"
        self.options = {
            "key": Key.from_file(self.dir / "agent.pem", create=True),
            "directory": self.dir,
            "receipts": self.receipts,
            "budget": Budget("100 EUR/day"),
        }

    def uimgate(self, *arguments):
        command = [os.environ["UIMGATE_BINARY"], "agent", "--data", str(self.dir), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def report(self):
        done = self.uimgate("receipts", "verify", "-o", "json")
        self.assertTrue(done.stdout, done.stderr)
        [book] = json.loads(done.stdout)["books"]
        return book

    def book(self):
        [path] = [path for path in self.receipts.iterdir() if path.suffix == ".jsonl"]
        return path

    def child(self, count):
        command = [sys.executable, "-c", MANY, str(self.dir), str(count), URL, ORDER]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        return child

    def test_the_program_reads_the_book(self):
        client = self.agreed(**self.options)
        client.execute(SEARCH, {"query": "lamp"})
        first = client.execute(ORDER, {"product": "lamp"}, idempotency_key="order-1")
        client.execute(ORDER, {"product": "lamp"}, idempotency_key="order-1")
        client.execute(ORDER, {"product": "désk 🪑"})
        self.assertEqual(stat.S_IMODE(self.book().stat().st_mode), 0o600)
        text = self.book().read_text("utf-8")
        types = [json.loads(line)["type"] for line in text.splitlines()]
        self.assertEqual(types, ["keys", "sent", "call", "sent", "call", "sent", "call"])
        self.assertNotIn("désk", text)
        listed = json.loads(self.uimgate("receipts", "list", "-o", "json").stdout)
        want = [(ORDER, "0.25 EUR", "captured", [], replayed) for replayed in (False, True, False)]
        self.assertEqual([(c["intent"], c["amount"], c["state"], c["problems"], "replayed" in c) for c in listed], want)
        self.assertEqual(listed[0]["id"], first.charge.id)
        book = self.report()
        self.assertEqual((book["ok"], book["calls"], book["receipts"]), (True, 2, 2))
        agreed = self.uimgate("agree", URL, "--yes")
        self.assertEqual(agreed.returncode, 0, agreed.stderr)
        done = self.uimgate("receipts", "reconcile", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        [book] = json.loads(done.stdout)["books"]
        self.assertEqual((book["problems"], book["accounts"][0]["missing"], book["accounts"][0]["captured"]), ([], 0, "0.50 EUR"))
        self.assertEqual(self.warnings, [])

    def test_calls_of_other_libraries_are_in_the_book(self):
        client = self.agreed(**self.options)
        with httpx.Client(transport=UimTransport(client)) as http:
            body = {"intent_uid": ORDER, "parameters": {"product": "lamp"}}
            self.assertEqual(http.post(client.endpoints["uim-api-execute"], json=body).status_code, 200)
            tool = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ORDER, "arguments": {"product": "lamp"}}}
            headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
            self.assertIn("UIM-Charge", http.post(client.endpoints["uim-mcp"], json=tool, headers=headers).text)
        book = self.report()
        self.assertEqual((book["ok"], book["calls"], book["receipts"], self.warnings), (True, 2, 2, []), book)

    def verify_bundle(self, file):
        """Verifies a bundle of evidence with the verifier of the examples."""
        script = Path(__file__).parents[3] / "examples" / "evidence" / "verify.py"
        done = subprocess.run([sys.executable, script, file], capture_output=True, text=True, check=False)
        self.assertTrue(done.stdout, done.stderr)
        return json.loads(done.stdout)

    def test_an_export_has_the_agreement_and_the_policies(self):
        offer(title="before")
        client = self.agreed(**self.options)
        agreed = client.agreement.policy_digest
        client.execute(ORDER, {"product": "lamp"})
        offer(title="after")
        for product in ("desk", "chair"):
            result = client.execute(ORDER, {"product": product})
            self.assertEqual((result.discrepancies, result.receipt.entry["pol"] == agreed), ((), False))
        self.assertEqual((self.warnings, self.report()["ok"]), ([], True))
        for command in (["agree", URL, "--yes"], ["receipts", "reconcile"], ["receipts", "export", str(self.dir / "bundle.jsonl.gz")]):
            done = self.uimgate(*command)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = self.verify_bundle(str(self.dir / "bundle.jsonl.gz"))
        self.assertEqual((report["problems"], report["agreements"], report["policies"]), ([], 2, 2), report)

    def test_a_receipt_for_other_terms_is_a_problem(self):
        offer(title="before")
        client = self.agreed(**self.options)
        session = client._agreements.session
        session.policy = session.policy.replace(b'"0.25"', b'"0.20"')  # as if the agreement had another price
        offer(title="after")
        result = client.execute(ORDER, {"product": "lamp"})
        self.assertEqual([p.name for p in result.discrepancies], ["POLICY"])

    def test_a_charge_that_is_not_the_price_agreed_to_is_a_problem(self):
        client = self.agreed(**self.options)
        self.assertEqual(client.execute(ORDER, {"product": "lamp"}).discrepancies, ())
        client.close()
        other = self.agreed(**self.options)
        session = other._agreements.session
        session.policy = session.policy.replace(b'"0.25"', b'"0.20"')  # as if the agreement had another price
        result = other.execute(ORDER, {"product": "desk"})
        self.assertEqual(([p.name for p in result.discrepancies], result.receipt.amount), (["AMOUNT"], Amount.parse("0.25 EUR")))
        listed = json.loads(self.uimgate("receipts", "list", "-o", "json").stdout)
        self.assertEqual([[p["name"] for p in line["problems"]] for line in listed], [[], ["AMOUNT"]])

    def test_two_processes_share_a_book(self):
        self.agreed(**self.options)
        self.assertEqual([child.wait() for child in [self.child(6), self.child(6)]], [0, 0])
        book = self.report()
        self.assertEqual((book["ok"], book["calls"], book["receipts"]), (True, 12, 12), book)

    def test_a_killed_process_damages_nothing(self):
        client = self.agreed(**self.options)
        child = self.child(1000)
        child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.wait()
        line = self.book().read_bytes().splitlines()[2]
        for part in (1, 20, len(line) - 1):
            with open(self.book(), "ab") as file:
                file.write(line[:part])
            self.assertEqual(self.report()["problems"], [])  # an incomplete last line is not a problem
            client.execute(ORDER, {"product": f"after-{part}"})
            for written in self.book().read_text("utf-8").splitlines():
                json.loads(written)
        self.assertTrue(self.report()["ok"])
        self.assertEqual(self.warnings, [])

    def test_an_altered_byte_is_found(self):
        self.agreed(**self.options).execute(ORDER, {"product": "lamp"})
        text = self.book().read_bytes()
        at = text.index(b'"receipt":"') + 200
        self.book().write_bytes(text[:at] + (b"B" if text[at : at + 1] == b"A" else b"A") + text[at + 1 :])
        book = self.report()
        self.assertFalse(book["ok"])
        self.assertIn("SIGNATURE", [p["name"] for p in book["problems"]])

    def test_a_client_without_a_session_trusts_the_keys_of_the_book(self):
        self.agreed(**self.options).execute(ORDER, {"product": "lamp"})
        first, *rest = self.book().read_text("utf-8").splitlines(True)
        other = Key.generate()
        record = json.loads(first)
        [key] = record["jwks"]["keys"]
        record["jwks"]["keys"] = [{**key, "x": other.jwk["x"], "kid": other.thumbprint}]
        self.book().write_text(json.dumps(record, separators=(",", ":")) + "\n" + "".join(rest))
        client = UimClient.discover(URL, **self.options | {"directory": None}, on_warning=self.warnings.append)
        self.addCleanup(client.close)
        self.assertEqual(list(client._agreements.keys.keys), [other.thumbprint])
        client.agree(client.policy().digest)
        client.execute(ORDER, {"product": "lamp"})
        self.assertEqual(self.warnings, [])

    def test_a_book_that_cannot_be_written_does_not_make_a_call_fail(self):
        client = self.agreed(**self.options)
        client.execute(ORDER, {"product": "lamp"})
        self.book().chmod(0o644)
        result = client.execute(ORDER, {"product": "desk"})
        self.assertEqual([p.name for p in result.discrepancies], ["FILE"])
        self.assertIn("other users can access it", self.warnings[-1])

    def test_a_full_file_is_followed_by_one_with_the_keys(self):
        client = self.agreed(**self.options)
        client.execute(ORDER, {"product": "lamp"})
        book = Book(self.receipts, client._agreements.catalog.url, client.agent_id, 4000)
        self.assertEqual(book.path, self.book())
        before = book.trusted().keys.keys()
        for _ in range(60):
            book.begin("sha-256:" + "A" * 43, time.time())
        names = [path.name for path in self.receipts.iterdir() if path.suffix == ".jsonl"]
        self.assertTrue(1 < len(names) <= 8, names)
        self.assertEqual(book.trusted().keys.keys(), before)
        self.assertTrue(self.report()["ok"])


def link(k, **more):
    return Link(**({"agent": "robot", "currency": "EUR", "epoch": 0, "k": k, "prev": f"leaf-{k - 1}", "leaf": f"leaf-{k}"} | more))


class Follow(unittest.TestCase):
    def test_table(self):
        for name, mark, replayed, receipt, earlier, want in (
            ("the next entry", (0, 4), False, link(5), [link(4)], []),
            ("a gap", (0, 4), False, link(9), [link(4)], []),
            ("another entry with the number", (0, 4), False, link(5), [link(5, leaf="x")], ["FORK"]),
            ("another predecessor", (0, 4), False, link(5), [link(4, leaf="x")], ["FORK"]),
            ("another successor", (0, 4), False, link(5), [link(6, prev="x")], ["FORK"]),
            ("an earlier receipt", (0, 5), False, link(4), [link(4), link(5)], ["DUPLICATE"]),
            ("an earlier receipt of a repeated call", (0, 5), True, link(4), [link(4), link(5)], []),
            ("a number that is too low", (0, 9), False, link(5), [], ["ORDER"]),
            ("a restored state", (0, 9), False, link(5, epoch=1), [], ["EPOCH"]),
            ("an earlier epoch", (2, 4), False, link(5, epoch=1), [], ["ORDER"]),
            ("another agent", (0, 4), False, link(5), [link(5, agent="other", leaf="x")], []),
            ("no earlier entry", None, False, link(5), [], []),
        ):
            with self.subTest(name):
                found = follow({"EUR": mark} if mark else {}, replayed, receipt, earlier)
                self.assertEqual([p.name for p in found], want)
