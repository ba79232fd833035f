"""What the tests have in common: the gateway of the Go test, and services that misbehave."""

import atexit
import json
import os
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from uimgate import Budget, Key, UimClient

URL = os.environ.get("UIMGATE_URL", "")
CONTROL = os.environ.get("UIMGATE_CONTROL", "")
SEARCH, ORDER = "shop.example:search:v1", "shop.example:order:v1"

POLICY = {
    "@context": "http://www.w3.org/ns/odrl.jsonld",
    "type": "Set",
    "uid": "https://shop.example/policy/1",
    "profile": "http://example.com/profile/odrl-uim",
    "permission": [
        {"target": SEARCH, "action": "execute"},
        {"target": ORDER, "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]},
    ],
}


_control = httpx.Client(verify=False, trust_env=False)  # noqa: S501
atexit.register(_control.close)  # modules of one process share it


def control(path, **values):
    """Changes a setting of the gateway."""
    _control.post(CONTROL + path, data=values).raise_for_status()


def offer(amount="0.25", **members):
    """Makes the gateway offer a policy with another price, and with further members."""
    policy = {**json.loads(json.dumps(POLICY)), **members}
    policy["permission"][1]["duty"][0]["amount"] = amount
    _control.post(CONTROL + "/policy", content=json.dumps(policy)).raise_for_status()


def offer_plans():
    """Makes the gateway offer two plans: free permits 2 searches a day, pro permits 3."""
    policy = json.loads(json.dumps(POLICY))
    search = policy["permission"].pop(0)
    for plan, most in (("free", 2), ("pro", 3)):
        limit = {"leftOperand": "count", "operator": "lteq", "rightOperand": most, "unit": "day"}
        chosen = {"leftOperand": "uim:plan", "operator": "eq", "rightOperand": plan}
        policy["permission"].append({**search, "constraint": [chosen, limit]})
    _control.post(CONTROL + "/policy", content=json.dumps(policy)).raise_for_status()


def counts():
    """Returns how many calls reached the upstream, and how many requests each path had."""
    return _control.get(CONTROL + "/counts").json()


def requests(path):
    return counts()["requests"].get(path, 0)


class GatewayTest(unittest.TestCase):
    """A test beside a gateway, with a directory of its own."""

    def setUp(self):
        control("/set")
        offer()
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.dir = Path(held.name)
        self.warnings = []

    def client(self, **options):
        options = {"key": Key.generate(), "budget": Budget("10 EUR/day"), "on_warning": self.warnings.append} | options
        found = UimClient.discover(URL, **options)
        self.addCleanup(found.close)
        return found

    def agreed(self, **options):
        client = self.client(**options)
        client.agree(client.policy().digest)
        return client


class Service:
    """An HTTP server of one test. A handler returns (status, headers, body), or None to close the connection."""

    def __init__(self, test, handler):
        self.seen = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                service.seen.append((self.command, self.path, dict(self.headers), self.rfile.read(length)))
                answer = handler(service, self.command, self.path)
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, body = answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in headers:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()

        def stop():
            self.server.shutdown()
            self.server.server_close()
            thread.join()

        test.addCleanup(stop)
