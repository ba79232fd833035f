"""An agent as the guides describe it, on the standard library alone.

It signs json.dumps(policy) with RSA PKCS#1 v1.5 and SHA-256, and sends the signature in hex with its
key as PEM. Usage: guide_agent.py BASE_URL INTENT_UID PARAMETERS_JSON; the key comes as JSON on stdin.
"""
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


def sign_hex(message, key):
    size = (key["n"].bit_length() + 7) // 8
    info = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(message).digest()
    block = b"\x00\x01" + b"\xff" * (size - len(info) - 3) + b"\x00" + info
    return pow(int.from_bytes(block, "big"), key["d"], key["n"]).to_bytes(size, "big").hex()


base, uid, parameters = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
key = json.load(sys.stdin)

agents = call(base + "/agents.json")
policy = call(agents["uim-policy-file"])
answer = call(base + "/pat/issue", {
    "agent_id": "python-guide-agent",
    "signed_policy": sign_hex(json.dumps(policy).encode(), key),
    "agent_public_key": key["pem"],
})
token = answer["uim-pat"]
print(json.dumps(call(agents["uim-api-execute"], {"intent_uid": uid, "parameters": parameters}, token)))
