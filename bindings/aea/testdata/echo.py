"""Sends a greeting to an agent that returns the same bytes, and messages that no handler reads, and prints the replies.

usage: echo.py tcp HOST:PORT GATEWAY | echo.py delegate HOST:PORT GATEWAY NODE_KEY
"""
import json, sys

import aea


def main(kind, at, gateway, node=""):
    key = aea.Key(b"an agent in Python")
    way = aea.TCP(at, key.address) if kind == "tcp" else aea.Delegate(at, node, key)
    said = []
    for text in ("hello", "x" * 100_000):
        d = aea.Dialogue(way, gateway, aea.DEFAULT)
        d.send(aea.fields((5, aea.fields((1, text)))))
        said.append(aea.only(aea.only(d.receive(), 5), 1).decode() == text)
        d.send(aea.fields((6, b"")))
    unknown = aea.Dialogue(way, gateway, "fetchai/gym:1.0.0")
    unknown.send(aea.fields((5, b"")))
    e = aea.parse(way.receive())
    error = aea.only(aea.only(aea.only(e[4][0], 2), 5), 7)
    print(json.dumps({"address": key.address, "said": said, "protocol": e[3][0].decode(),
                      "code": aea.only(aea.only(error, 1), 1, 0), "text": aea.only(error, 2).decode()}))


main(*sys.argv[1:])
