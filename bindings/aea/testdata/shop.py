"""Asks a service for an intent, agrees to its offer, calls the intent in both ways, and prints the replies.

usage: shop.py tcp HOST:PORT GATEWAY - INTENT PARAMETERS | shop.py delegate HOST:PORT GATEWAY NODE_KEY INTENT PARAMETERS
"""
import json, sys

import aea


def query(name, text):
    """Returns a query for one value of an attribute."""
    relation = aea.fields((2, aea.fields((1, text))))
    return aea.fields((1, aea.fields((4, aea.fields((1, name), (4, relation))))))


def attributes(description):
    found = {}
    for pair in aea.parse(description)[2]:
        value = aea.parse(aea.only(pair, 2))
        found[aea.only(pair, 1).decode()] = value[1][0].decode() if 1 in value else value[4][0]
    return found


def info(content, performative):
    message = aea.parse(content)
    assert list(message) == [performative], message
    return {aea.only(entry, 1).decode(): aea.only(entry, 2).decode() for entry in aea.parse(message[performative][0])[1]}


def main(kind, at, gateway, node, intent, parameters):
    key = aea.Key(b"an agent in Python, by " + kind.encode())
    way = aea.TCP(at, key.address) if kind == "tcp" else aea.Delegate(at, node, key)

    d = aea.Dialogue(way, gateway, aea.FIPA)
    d.send(aea.fields((7, aea.fields((1, aea.fields((1, query("intent_uid", intent))))))))
    offer = attributes(aea.only(aea.only(aea.only(d.receive(), 13), 1), 1))
    text = "\n".join(["uim-aea-1", gateway, key.address, offer["policy_sha256"], offer["tx_nonce"]])
    signed = {"public_key": key.public, "signature": key.sign(text.encode()),
              "policy_sha256": offer["policy_sha256"], "tx_nonce": offer["tx_nonce"]}
    d.send(aea.fields((6, aea.fields(*[(1, aea.fields((1, name), (2, value))) for name, value in signed.items()]))))
    told = info(d.receive(), 12)
    d.send(aea.fields((9, b"")))

    d = aea.Dialogue(way, gateway, aea.DEFAULT)
    content = {"intent_uid": intent, "parameters": json.loads(parameters), "pat": told["pat"]}
    d.send(aea.fields((5, aea.fields((1, json.dumps(content))))))
    output = aea.only(aea.only(d.receive(), 5), 1).decode()

    d = aea.Dialogue(way, gateway, aea.HTTP)
    body = json.dumps({"intent_uid": intent, "parameters": json.loads(parameters)})
    headers = f"Authorization: Bearer {told['pat']}\nContent-Type: application/json\n\n"
    d.send(aea.fields((5, aea.fields((1, "POST"), (2, offer["execute_url"]), (4, headers), (5, body)))))
    response = aea.parse(aea.only(d.receive(), 6))
    print(json.dumps({
        "address": key.address, "price": offer["price"], "intent": offer["service_id"], "agreement": told["agreement_id"],
        "output": output, "status": response[2][0], "body": response[5][0].decode(),
    }))


main(*sys.argv[1:])
