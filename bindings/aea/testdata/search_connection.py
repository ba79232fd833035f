"""Runs the class Search of docs/protocols/aea.md, which carries oef_search of a skill to the gateway, on small classes with the interfaces of
agents-aea 1.2.5: a message has private addresses that are set once, an envelope has two agents or two components, and a connection between
agents refuses components. A skill searches, and negotiates with what it finds. Prints what the skill got.

usage: search_connection.py DOCUMENT HOST:PORT GATEWAY NODE_KEY INTENT
"""
import asyncio, json, re, sys, types

import aea

COMPONENT = re.compile(r"[a-zA-Z_]\w*/[a-zA-Z_]\w*(:\d+\.\d+\.\d+)?$")


class PublicId(str):
    @classmethod
    def from_str(cls, text):
        assert COMPONENT.match(text), text
        return cls(text)


class Message:
    """A message has the reference of its dialogue, ids, and content; its addresses can be set once."""

    def __init__(self, content, reference, message_id=1, target=0):
        self.content, self.dialogue_reference, self.message_id, self.target = content, reference, message_id, target
        self._to = self._sender = None

    def address(name):
        def set_once(self, value):
            assert getattr(self, name) is None, name + " is set already"
            setattr(self, name, value)
        return property(lambda self: getattr(self, name), set_once)

    to, sender = address("_to"), address("_sender")


class Serializer:
    def __init__(self, of):
        self.of = of

    def encode(self, m):
        parts = [(1, m.message_id), (2, m.dialogue_reference[0]), (3, m.dialogue_reference[1]), (4, m.target), (5, m.content)]
        return aea.fields((2, aea.fields(*[p for p in parts if p[1] not in ("", 0)])))

    def decode(self, data):
        m = aea.parse(aea.only(data, 2))
        text = lambda n: m[n][0].decode() if n in m else ""
        return self.of(m[5][0], (text(2), text(3)), m[1][0], m.get(4, [0])[0])


class OefSearchMessage(Message):
    protocol_specification_id = PublicId.from_str("fetchai/oef_search:1.0.0")


class FipaMessage(Message):
    protocol_specification_id = PublicId.from_str(aea.FIPA)


OefSearchMessage.serializer, FipaMessage.serializer = Serializer(OefSearchMessage), Serializer(FipaMessage)


class Envelope:
    def __init__(self, to, sender, message, protocol_specification_id=None):
        assert bool(COMPONENT.match(to)) == bool(COMPONENT.match(sender)), (to, sender)
        self.to, self.sender, self.message = to, sender, message
        self.protocol_specification_id = protocol_specification_id or message.protocol_specification_id


class P2PLibp2pClientConnection:
    """The connection for agents, over the delegate of the gateway."""

    def __init__(self, configuration, at, node, key):
        self.configuration, self.address, self.way = configuration, key.address, aea.Delegate(at, node, key)

    async def send(self, envelope):
        assert not COMPONENT.match(envelope.to) and not COMPONENT.match(envelope.sender), "the connection is for agents"
        message = envelope.message
        assert (message.to, message.sender) == (envelope.to, envelope.sender)
        self.way.send(aea.envelope(envelope.to, envelope.sender, str(envelope.protocol_specification_id), message.serializer.encode(message)))

    async def receive(self, *args, **kwargs):
        e = aea.parse(self.way.receive())
        to, sender, protocol = (e[n][0].decode() for n in (1, 2, 3))
        return Envelope(to, sender, e[4][0], PublicId.from_str(protocol))


async def main(document, at, gateway, node, intent):
    module = "packages.fetchai.protocols.oef_search.message"
    sys.modules[module] = types.ModuleType(module)
    sys.modules[module].OefSearchMessage = OefSearchMessage
    for parent in ("packages", "packages.fetchai", "packages.fetchai.protocols", "packages.fetchai.protocols.oef_search"):
        sys.modules[parent] = types.ModuleType(parent)
    blocks = re.findall(r"```python\n(.*?)```", open(document, encoding="utf-8").read(), re.S)
    names = {"P2PLibp2pClientConnection": P2PLibp2pClientConnection, "PublicId": PublicId, "Envelope": Envelope}
    exec(next(b for b in blocks if "class Search(" in b), names)
    configuration = types.SimpleNamespace(config={"directory": gateway})
    search = names["Search"](configuration, at, node, aea.Key(b"a stock agent in Python"))

    skill, query = "fetchai/generic_buyer:0.27.6", aea.fields((1, aea.fields((4, aea.fields(
        (1, "seller_service"), (4, aea.fields((2, aea.fields((1, intent))))))))))
    asked = OefSearchMessage(aea.fields((8, aea.fields((1, aea.fields((1, query)))))), ("search", ""))
    soef = str(names["Search"].connection_id)
    asked.to, asked.sender = soef, skill
    await search.send(Envelope(to=asked.to, sender=asked.sender, message=asked))
    found = await search.receive()
    assert found.message.to == found.to == skill and found.message.sender == found.sender == soef, (found.to, found.sender)
    assert found.message.dialogue_reference[0] == "search" and found.message.target == 1
    agents = [a.decode() for a in aea.parse(aea.only(found.message.content, 7))[1]]

    cfp = FipaMessage(aea.fields((7, aea.fields((1, aea.fields((1, query)))))), ("negotiation", ""))
    cfp.to, cfp.sender = agents[0], search.address
    await search.send(Envelope(to=cfp.to, sender=cfp.sender, message=cfp))
    offer = await search.receive()
    content = FipaMessage.serializer.decode(offer.message).content
    print(json.dumps({"agents": agents, "offer": list(aea.parse(content)), "left": len(search.skills)}))


asyncio.run(main(*sys.argv[1:]))
