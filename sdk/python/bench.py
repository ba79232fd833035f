"""Measures the processor time of a proved call and of a plain request of httpx with the same body, in this process. The service
is another process that answers at once. Run it in this directory: PYTHONPATH=src python3 bench.py [CALLS]"""

import hashlib
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx

from uimgate import Budget, Key, UimClient
from uimgate._json import canonical
from uimgate._keys import b64, digest_of

INTENT = "shop.example:order:v1"
PARAMETERS = {"product_id": "desk-lamp", "quantity": 2, "note": "für Zoë"}
PAY = {"action": "pay", "amount": "0.01", "unit": "EUR"}
POLICY = {"uid": "p", "permission": [{"target": INTENT, "action": "execute", "duty": [PAY]}]}
OUTPUT = b'{"order_id":"o-1","total":49.9}'


def serve(pipe):
    """Answers with the documents of a service, and with a signed receipt for each call."""
    key = Key.generate()
    state = {"agent": "", "k": 0, "prev": ""}
    request = "sha-256:" + digest_of({"intent_uid": INTENT, "parameters": PARAMETERS})
    token = ".".join((b64(b"{}"), b64(b'{"jti":"t","exp":4102444800}'), "AAAA"))

    def receipt(execution):
        entry = {
            **{"v": "uim-entry-1", "iss": "shop.example", "kind": "charge", "id": execution, "k": state["k"], "prev": state["prev"]},
            **{"account": {"agent": state["agent"], "currency": "EUR"}, "amount": "0.01", "to": "captured", "pat": "t", "req": request},
            **{"pol": "sha-256:" + digest_of(POLICY), "ans": "sha-256:" + b64(hashlib.sha256(OUTPUT).digest())},
        }
        state["k"] += 1
        state["prev"] = b64(hashlib.sha256(b"\0" + canonical(entry)).digest())
        return key.sign_jws({"typ": "uim-receipt+jwt", "kid": key.thumbprint}, entry)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            base = f"http://127.0.0.1:{self.server.server_address[1]}"
            names = {"uim-policy-file": "policy", "uim-pat-issue": "issue", "uim-api-execute": "execute", "uim-jwks": "keys"}
            agents = {"uim-issuer": "shop.example", "uim-receipts": base + "/receipts/{execution_id}"}
            agents |= {name: f"{base}/{path}" for name, path in names.items()}
            documents = {
                "/agents.json": agents | {"intents": [{"intent_uid": INTENT, "intent_name": "Order"}]},
                "/policy": POLICY,
                "/issue": {"uim-pat": token},
                "/keys": {"keys": [{**key.jwk, "kid": key.thumbprint, "uim_purpose": "receipt"}]},
            }
            path = self.path.partition("?")[0]
            if path == "/issue":
                state["agent"] = json.loads(body)["agent_id"]
            answer = json.dumps(documents[path]).encode() if path in documents else OUTPUT
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            if path not in documents:
                execution = str(uuid.uuid4())
                self.send_header("UIM-Charge", f"0.01 EUR; id={execution}; state=captured")
                self.send_header("UIM-Receipt", receipt(execution))
            self.end_headers()
            self.wfile.write(answer)
            self.wfile.flush()

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.timeout = None
        pipe.send(server.server_address[1])
        server.serve_forever()


def fail(message):
    raise SystemExit(message)  # the figures would be those of failures


def measure(port, calls):
    """Prints the figures. The service answers one connection after the other, so each kind of call closes its connection."""
    at = f"http://127.0.0.1:{port}"
    body = json.dumps({"intent_uid": INTENT, "parameters": PARAMETERS}).encode()

    def plain(n):
        with httpx.Client() as client:
            return timed(n, lambda: client.post(at + "/execute", content=body, headers={"Content-Type": "application/json"}).json())

    def proved(n, **options):
        with UimClient.discover(at, key=Key.generate(), budget=Budget("1000000 EUR/day"), on_warning=fail, **options) as client:
            client.agree(lambda _: True)
            return timed(n, lambda: client.execute(INTENT, PARAMETERS))

    def kept(n):
        with tempfile.TemporaryDirectory() as directory:
            return proved(n, receipts=directory)

    kinds = {"plain request of httpx": plain, "execute with a proof": proved, "execute with a proof and a kept receipt": kept}
    for kind in kinds.values():
        kind(100)
    rounds = {name: [] for name in kinds}
    for _ in range(5):
        for name, kind in kinds.items():
            rounds[name].append(kind(calls // 5))
    base = statistics.median(rounds["plain request of httpx"])
    for name, list_ in rounds.items():
        more = "" if name == "plain request of httpx" else f", {statistics.median(list_) - base:.3f} more than plain"
        print(f"{name}: {statistics.median(list_):.3f} ms of CPU{more}")


def timed(n, call):
    """Returns the processor time of a call in milliseconds."""
    begun = time.process_time()
    for _ in range(n):
        call()
    return (time.process_time() - begun) * 1000 / n


if __name__ == "__main__":
    ours, theirs = multiprocessing.Pipe()
    service = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
    service.start()
    measure(ours.recv(), int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    service.terminate()
