"""An agent of the uAgents protocol that does not support UIM: it sends only messages of its own model, and prints the replies. It sends one
message and waits for the reply, as send_sync_message does. With MAILBOX it then sends another one as ctx.send does, and polls for the reply.
Like send_message_to_agent of the framework, it sets no expiry.

usage: caller.py URL ADDRESS NOW MODEL MESSAGE [MAILBOX]
"""
import base64, hashlib, json, os, struct, sys, urllib.request, uuid

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from agent import SHA, bech32, digest, unbech32


def main(url, service, now, model, message, mailbox=None):
    key = ec.derive_private_key(int.from_bytes(hashlib.sha256(b"a caller in Python").digest(), "big"), ec.SECP256K1())
    point = key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint)
    me = bech32("agent", point)
    kind = "model:" + hashlib.sha256(json.dumps(json.loads(model), sort_keys=True).encode()).hexdigest()

    def sign(value):
        r, s = utils.decode_dss_signature(key.sign(value, SHA))
        return bech32("sig", r.to_bytes(32, "big") + s.to_bytes(32, "big"))

    def request(to, method, body=None, **header):
        header["content-type"] = "application/json"
        data = None if body is None else json.dumps(body).encode()
        return json.load(urllib.request.urlopen(urllib.request.Request(to, data, header, method=method), timeout=30))

    def envelope():
        e = {"version": 1, "sender": me, "target": service, "session": str(uuid.uuid4()), "schema_digest": kind, "protocol_digest": None,
             "payload": base64.b64encode(message.encode()).decode(), "expires": None, "nonce": None}
        return {**e, "signature": sign(digest(e))}

    def opened(sent, reply):
        assert (reply["sender"], reply["target"], reply["session"]) == (service, me, sent["session"])
        rs = unbech32("sig", reply["signature"])
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), unbech32("agent", service))
        theirs.verify(utils.encode_dss_signature(int.from_bytes(rs[:32], "big"), int.from_bytes(rs[32:], "big")), digest(reply), SHA)
        return {"model": reply["schema_digest"], "message": json.loads(base64.b64decode(reply["payload"]))}

    e = envelope()
    replies = [opened(e, request(url, "POST", e, **{"x-uagents-connection": "sync"}))]
    if mailbox:
        e = envelope()
        assert request(url, "POST", e) == {}
        content = point + struct.pack(">QQ", int(now), int(now) + 3600) + os.urandom(32)
        attestation = f"Agent attr:{base64.b64encode(content).decode()}:{sign(hashlib.sha256(content).digest())}"
        at = f"{mailbox}/v2/agents/{me}/mailbox"
        while not (waiting := request(at, "GET", authorization=attestation)):
            pass
        replies.append(opened(e, waiting[0]["envelope"]))
        assert request(f"{at}/{waiting[0]['uuid']}", "DELETE", authorization=attestation) == {}
    print(json.dumps({"agent": me, "replies": replies}))


if __name__ == "__main__":
    main(*sys.argv[1:])
