"""An agent like that of the reference implementation: it sends a compact JWS (RS256) whose payload is the policy, and
the base64url of its key's PEM. Standard library alone. Usage as guide_agent.py.
"""
import base64
import hashlib
import json
import sys
import urllib.request


def call(url, body=None, token=None):
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if token:
        headers["Authorization"] = "Bearer " + token
    data = json.dumps(body).encode() if body is not None else None
    with urllib.request.urlopen(urllib.request.Request(url, data=data, headers=headers)) as answer:
        return json.load(answer)


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(message, key):
    size = (key["n"].bit_length() + 7) // 8
    info = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(message).digest()
    block = b"\x00\x01" + b"\xff" * (size - len(info) - 3) + b"\x00" + info
    return pow(int.from_bytes(block, "big"), key["d"], key["n"]).to_bytes(size, "big")


base, uid, parameters = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
key = json.load(sys.stdin)

agents = call(base + "/.well-known/agents.json")
policy = call(agents["uim-policy-file"])
signed = b64(b'{"alg":"RS256","typ":"JWT"}') + "." + b64(json.dumps(policy, separators=(",", ":")).encode())
signed += "." + b64(sign(signed.encode(), key))
answer = call(base + "/pat/issue", {
    "agent_id": "python-jws-agent",
    "signed_policy": signed,
    "agent_public_key": base64.urlsafe_b64encode(key["pem"].encode()).decode(),
})
print(json.dumps(call(base + "/uim/execute", {"intent_uid": uid, "parameters": parameters}, answer["uim-pat"])))
