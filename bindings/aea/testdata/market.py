"""Plays a seller and a buyer of the framework's generic skills over the node of a gateway: the seller registers itself in four pieces, the
buyer searches for it, and they negotiate through the gateway. Then the buyer finds the service of the gateway, and negotiates with it without
a signature. Prints what each got.

usage: market.py HOST:PORT GATEWAY NODE_KEY INTENT
"""
import json, secrets, sys

import aea

OEF, STRING, LOCATION = "fetchai/oef_search:1.0.0", 3, 4


def description(model, **values):
    attributes, pairs = b"", b""
    for name, value in sorted(values.items()):
        place = isinstance(value, tuple)
        attributes += aea.fields((2, aea.fields((1, name), (2, LOCATION if place else STRING), (3, 1))))
        one = aea.fields((5, aea.fields((1, value[1]), (2, value[0])))) if place else aea.fields((1, value))
        pairs += aea.fields((2, aea.fields((1, name), (2, one))))
    return aea.fields((1, aea.fields((1, model)) + attributes)) + pairs


def service(name):
    """The constraint of generic_buyer on a service."""
    return aea.fields((1, aea.fields((4, aea.fields((1, "seller_service"), (4, aea.fields((2, aea.fields((1, name))))))))))


def near(lat, lon, kilometres):
    distance = aea.fields((1, aea.fields((1, lon), (2, lat))), (2, kilometres))
    return aea.fields((1, aea.fields((4, aea.fields((1, "location"), (5, distance))))))


def custom(data):
    return aea.fields((1, aea.fields((1, data))))


def request(way, gateway, number, content):
    """Sends a request to the directory and returns the performative and the fields of the reply."""
    d = aea.Dialogue(way, gateway, OEF)
    d.send(aea.fields((number, custom(content))))
    reply = aea.parse(d.receive())
    assert len(reply) == 1, reply
    return next((n, aea.parse(v[0])) for n, v in reply.items())


def informed(content, number):
    message = aea.parse(content)
    assert list(message) == [number], message
    return {aea.only(e, 1).decode(): aea.only(e, 2).decode() for e in aea.parse(message[number][0]).get(1, [])}


class Reply:
    """The side of a dialogue that did not begin it."""

    def __init__(self, way):
        self.way, self.reference, self.sent = way, secrets.token_hex(32), 0

    def receive(self):
        e = aea.parse(self.way.receive())
        m = aea.parse(aea.only(e[4][0], 2))
        self.to, self.theirs, self.target = e[2][0].decode(), m[2][0], m[1][0]
        return m[5][0]

    def send(self, content):
        self.sent -= 1
        message = aea.fields((1, self.sent), (2, self.theirs), (3, self.reference), (4, self.target), (5, content))
        self.way.send(aea.envelope(self.to, self.way.address, aea.FIPA, aea.fields((2, message))))


def main(at, gateway, node, intent):
    selling, buying = aea.Key(b"a seller in Python"), aea.Key(b"a buyer in Python")
    seller, buyer = aea.Delegate(at, node, selling), aea.Delegate(at, node, buying)
    for piece in (description("location_agent", location=(51.5194, 0.1270)),
                  description("set_service_key", key="seller_service", value="generic_service"),
                  description("personality_agent", piece="genus", value="data"),
                  description("personality_agent", piece="classification", value="seller")):
        assert request(seller, gateway, 6, piece)[0] == 9  # success
    number, found = request(buyer, gateway, 8, near(51.5194, 0.1270, 5.0) + service("generic_service"))
    assert number == 7 and found[1] == [selling.address.encode()], found

    offer, other = aea.Dialogue(buyer, selling.address, aea.FIPA), Reply(seller)
    offer.send(aea.fields((7, custom(service("generic_service")))))
    assert list(aea.parse(other.receive())) == [7]
    other.send(aea.fields((13, custom(description("", service_id="generic_service", tx_nonce="n")))))
    assert list(aea.parse(offer.receive())) == [13]
    offer.send(aea.fields((5, b"")))  # accept
    assert list(aea.parse(other.receive())) == [5]
    other.send(aea.fields((12, aea.fields((1, aea.fields((1, "address"), (2, selling.address)))))))
    address = informed(offer.receive(), 12)["address"]
    offer.send(aea.fields((10, aea.fields((1, aea.fields((1, "Done"), (2, "Sending payment via bank transfer")))))))
    assert "Done" in informed(other.receive(), 10)
    other.send(aea.fields((10, aea.fields((1, aea.fields((1, "data"), (2, "rain")))))))
    data = informed(offer.receive(), 10)["data"]

    number, found = request(buyer, gateway, 8, near(0.0, 0.0, 5.0) + service(intent))
    assert number == 7 and found[1] == [gateway.encode()], found
    d = aea.Dialogue(buyer, gateway, aea.FIPA)
    d.send(aea.fields((7, custom(service(intent)))))
    assert list(aea.parse(d.receive())) == [13]
    d.send(aea.fields((5, b"")))
    told = informed(d.receive(), 12)
    d.send(aea.fields((10, aea.fields((1, aea.fields((1, "Done"), (2, "Sending payment via bank transfer")))))))
    last = list(aea.parse(d.receive()))
    location = description("location_agent", location=(51.5194, 0.1270))
    assert request(seller, gateway, 10, location)[0] == 9
    number, wrong = request(seller, gateway, 10, location)
    print(json.dumps({"address": address, "seller": selling.address, "data": data, "told": sorted(told), "last": last, "again": number,
                      "operation": aea.only(wrong[1][0], 1, 0)}))


main(*sys.argv[1:])
