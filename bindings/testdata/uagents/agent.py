"""An agent of the uAgents protocol with only the standard library and cryptography: it agrees, executes, and prints the answers.
With an ALMANAC it finds the service there by its protocol, registers itself, and takes the answer to its call at an endpoint of its own.

usage: agent.py URL ADDRESS NOW INTENT PARAMETERS [ALMANAC PROTOCOL]
"""
import base64, hashlib, http.server, json, queue, struct, sys, threading, urllib.request, uuid

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

CHARS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
SHA = ec.ECDSA(utils.Prehashed(hashes.SHA256()))


def polymod(values):
    check = 1
    for v in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ v
        for i, g in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= g if top >> i & 1 else 0
    return check


def spread(hrp):
    return [ord(c) >> 5 for c in hrp] + [0] + [ord(c) & 31 for c in hrp]


def bech32(hrp, data):
    bits = "".join(f"{b:08b}" for b in data)
    bits += "0" * (-len(bits) % 5)
    words = [int(bits[i:i + 5], 2) for i in range(0, len(bits), 5)]
    check = polymod(spread(hrp) + words + [0] * 6) ^ 1
    return hrp + "1" + "".join(CHARS[w] for w in words + [check >> 5 * (5 - i) & 31 for i in range(6)])


def unbech32(hrp, text):
    found, _, rest = text.rpartition("1")
    words = [CHARS.index(c) for c in rest]
    assert found == hrp and polymod(spread(hrp) + words) == 1
    bits = "".join(f"{w:05b}" for w in words[:-6])
    return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits) // 8 * 8, 8))


def schema(title, required=(), **properties):
    s = {"title": title, "type": "object", "properties": {
        name: {"title": name.replace("_", " ").title(), **kind} for name, kind in properties.items()}}
    if required:
        s["required"] = list(required)
    return "model:" + hashlib.sha256(json.dumps(s, sort_keys=True).encode()).hexdigest()


TEXT, OBJECT, TEXTS = {"type": "string"}, {"type": "object"}, {"type": "array", "items": {"type": "string"}}
POLICY = schema("UIMPolicyRequest")
AGREE = schema("UIMAgree", ("policy_digest", "issuer"), policy_digest=TEXT, issuer=TEXT, scope=TEXTS)
EXECUTE = schema("UIMExecute", ("intent_uid", "parameters"), intent_uid=TEXT, parameters=OBJECT, pat=TEXT, idempotency_key=TEXT)


def digest(e):
    h = hashlib.sha256("".join((e["sender"], e["target"], e["session"], e["schema_digest"], e["payload"])).encode())
    if e["expires"] is not None:
        h.update(struct.pack(">Q", e["expires"]))
    return h.digest()


def serve():
    """Takes what is posted to a port of its own, and returns its URL and what came."""
    came = queue.Queue()

    class Endpoint(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            came.put((self.headers, json.loads(self.rfile.read(int(self.headers["content-length"])))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/submit", came


def main(url, shop, now, intent, parameters, almanac=None, speaks=None):
    key = ec.derive_private_key(int.from_bytes(hashlib.sha256(b"an agent in Python").digest(), "big"), ec.SECP256K1())
    me = bech32("agent", key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint))

    def sign(digest):
        r, s = utils.decode_dss_signature(key.sign(digest, SHA))
        return bech32("sig", r.to_bytes(32, "big") + s.to_bytes(32, "big"))

    def post(to, body, **header):
        header = {"content-type": "application/json", **header}
        return json.load(urllib.request.urlopen(urllib.request.Request(to, json.dumps(body).encode(), header), timeout=30))

    def say(path, **said):
        said = {"agent_identifier": "agent://" + me, "timestamp": int(now), **said}
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        post(almanac + path, {**said, "signature": sign(hashlib.sha256(text.encode()).digest())})

    def ask(kind, message, came=None):
        e = {"version": 1, "sender": me, "target": shop, "session": str(uuid.uuid4()), "schema_digest": kind, "protocol_digest": None,
             "payload": base64.b64encode(json.dumps(message).encode()).decode(), "expires": int(now) + 30, "nonce": None}
        e["signature"] = sign(digest(e))
        if came is None:
            a = post(url, e, **{"x-uagents-connection": "sync"})
        else:
            assert post(url, e) == {}
            header, a = came.get(timeout=30)
            assert header["content-type"] == "application/json" and "x-uagents-connection" not in header
        assert (a["sender"], a["target"], a["session"]) == (shop, me, e["session"])
        rs = unbech32("sig", a["signature"])
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), unbech32("agent", shop))
        signature = utils.encode_dss_signature(int.from_bytes(rs[:32], "big"), int.from_bytes(rs[32:], "big"))
        theirs.verify(signature, digest(a), SHA)
        try:
            theirs.verify(signature, digest({**a, "payload": ""}), SHA)
            raise AssertionError("a signature that fits anything")
        except InvalidSignature:
            pass
        return json.loads(base64.b64decode(a["payload"]))

    came = None
    if almanac:
        endpoint, came = serve()
        (found,) = post(almanac + "/search", {"text": speaks.removeprefix("proto:")})
        assert (found["address"], found["status"], found["endpoints"][0]["url"].rpartition("/")[2]) == (shop, "active", "submit")
        say("/agents", protocols=[], endpoints=[{"url": endpoint, "weight": 1}], metadata={"größe": None})
        say(f"/agents/{me}/status", is_active=True)
        record = json.load(urllib.request.urlopen(f"{almanac}/agents/{me}?prefix=agent", timeout=30))
        assert record["endpoints"] == [{"url": endpoint, "weight": 1}] and record["expiry"].endswith("+00:00")
    policy = ask(POLICY, {})
    agreed = ask(AGREE, {"policy_digest": policy["digest"], "issuer": policy["issuer"]})
    print(json.dumps({"agent": me, "result": ask(EXECUTE, {
        "intent_uid": intent, "parameters": json.loads(parameters), "pat": agreed["pat"], "idempotency_key": None}, came)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
