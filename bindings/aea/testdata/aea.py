"""An agent of the AEA framework with the standard library and cryptography alone: its keys, its wire, and two of its connections."""
import base64, hashlib, secrets, socket, ssl, struct

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

CHARS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
SHA = ec.ECDSA(utils.Prehashed(hashes.SHA256()))
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
DEFAULT, HTTP, FIPA = "fetchai/default:1.0.0", "fetchai/http:1.0.0", "fetchai/fipa:1.0.0"
PATIENCE = 30


# Keys and addresses.

SHIFTS = ("befc5879bdef6798", "cdbf6997cfbd7877", "dfeb7768dedc5569", "ebce8655fcfe9986", "fcdd9586ebcb8655")
RHO = (7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8)
STEPS = (lambda x, y, z: x ^ y ^ z, lambda x, y, z: x & y | ~x & z, lambda x, y, z: (x | ~y) ^ z,
         lambda x, y, z: x & z | y & ~z, lambda x, y, z: x ^ (y | ~z))


def ripemd160(data):  # which OpenSSL does not always have
    def rotate(x, n):
        x &= 0xFFFFFFFF
        return (x << n | x >> (32 - n)) & 0xFFFFFFFF

    def line(h, words, order, steps, constants):
        a, b, c, d, e = h
        for r in range(5):
            for at in order:
                t = rotate(a + steps[r](b, c, d) + words[at] + constants[r], int(SHIFTS[r][at], 16)) + e
                a, e, d, c, b = e, d, rotate(c, 10), b, t & 0xFFFFFFFF
            order = [RHO[at] for at in order]
        return a, b, c, d, e

    h = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0)
    whole = data + b"\x80" + bytes(-(len(data) + 9) % 64) + struct.pack("<Q", 8 * len(data))
    for at in range(0, len(whole), 64):
        words = struct.unpack("<16I", whole[at:at + 64])
        one = line(h, words, range(16), STEPS, (0, 0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xA953FD4E))
        two = line(h, words, [(9 * i + 5) % 16 for i in range(16)], STEPS[::-1], (0x50A28BE6, 0x5C4DD124, 0x6D703EF3, 0x7A6D76E9, 0))
        h = tuple((h[(i + 1) % 5] + one[(i + 2) % 5] + two[(i + 3) % 5]) & 0xFFFFFFFF for i in range(5))
    return struct.pack("<5I", *h)


def bech32(hrp, data):
    def polymod(values):
        check = 1
        for v in values:
            top = check >> 25
            check = (check & 0x1FFFFFF) << 5 ^ v
            for i, g in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
                check ^= g if top >> i & 1 else 0
        return check

    bits = "".join(f"{b:08b}" for b in data)
    words = [int(bits[i:i + 5], 2) for i in range(0, len(bits), 5)]
    check = polymod([ord(c) >> 5 for c in hrp] + [0] + [ord(c) & 31 for c in hrp] + words + [0] * 6) ^ 1
    return hrp + "1" + "".join(CHARS[w] for w in words + [check >> 5 * (5 - i) & 31 for i in range(6)])


class Key:
    """A key on the ledger fetchai."""

    def __init__(self, seed):
        self.private = ec.derive_private_key(int.from_bytes(hashlib.sha256(seed).digest(), "big"), ec.SECP256K1())
        point = self.private.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint)
        self.public, self.address = point.hex(), bech32("fetch", ripemd160(hashlib.sha256(point).digest()))

    def sign(self, data):
        r, s = utils.decode_dss_signature(self.private.sign(hashlib.sha256(data).digest(), SHA))
        s = min(s, ORDER - s)
        return base64.b64encode(r.to_bytes(32, "big") + s.to_bytes(32, "big")).decode()


# Protocol Buffers, by hand.

def varint(n):
    n, out = n & (1 << 64) - 1, b""
    while n > 127:
        n, out = n >> 7, out + bytes([n & 127 | 128])
    return out + bytes([n])


def fields(*pairs):
    """Encodes fields (number, value): integers as varints, texts and bytes by their length, floats as 64 bits."""
    out = b""
    for number, value in pairs:
        if isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        elif isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def parse(data):
    """Returns the fields as a dictionary from numbers to lists of values."""
    def read(at):
        n = shift = 0
        while True:
            n, shift, at, more = n | (data[at] & 127) << shift, shift + 7, at + 1, data[at] & 128
            if not more:
                return n, at
    found, at = {}, 0
    while at < len(data):
        tag, at = read(at)
        if tag & 7 == 0:
            value, at = read(at)
            value = value - (1 << 64) if value >> 63 else value
        elif tag & 7 == 1:
            value, at = struct.unpack("<d", data[at:at + 8])[0], at + 8
        else:
            assert tag & 7 == 2, tag
            size, at = read(at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        found.setdefault(tag >> 3, []).append(value)
    return found


def only(data, number, otherwise=b""):
    return parse(data).get(number, [otherwise])[-1]


# Envelopes and dialogues.

def envelope(to, sender, protocol, message):
    return fields((1, to), (2, sender), (3, protocol), (4, message))


class Dialogue:
    """One that this agent begins. Contents are the encoded messages of the protocol."""

    def __init__(self, way, to, protocol):
        self.way, self.to, self.protocol = way, to, protocol
        self.reference, self.theirs, self.sent, self.target = secrets.token_hex(32), "", 0, 0

    def send(self, content):
        self.sent += 1
        message = [(1, self.sent), (2, self.reference)] + [(3, self.theirs)] * bool(self.theirs) + [(4, self.target)] * bool(self.target)
        self.way.send(envelope(self.to, self.way.address, self.protocol, fields((2, fields(*message, (5, content))))))

    def receive(self):
        """Returns the content of the next message, which has to be of this dialogue."""
        e = parse(self.way.receive())
        assert [e[n][0].decode() for n in (1, 2, 3)] == [self.way.address, self.to, self.protocol], e
        m = parse(only(e[4][0], 2))
        theirs = m[3][0].decode()
        assert m[2][0].decode() == self.reference and self.theirs in ("", theirs) and len(theirs) == 64, m
        assert m[1][0] == self.target - 1 and m[4][0] == self.sent, m
        self.theirs, self.target = theirs, m[1][0]
        return m[5][0]


# Connections.

class TCP:
    """The client side of fetchai/tcp."""

    def __init__(self, at, address):
        host, port = at.rsplit(":", 1)
        self.address, self.socket = address, socket.create_connection((host, int(port)), PATIENCE)
        self.send(address.encode())

    def send(self, frame):
        self.socket.sendall(struct.pack("<I", len(frame)) + frame)

    def receive(self):
        prefix = self.socket.recv(4)  # once, as the framework does
        assert len(prefix) == 4, prefix
        return exactly(self.socket, struct.unpack("<I", prefix)[0])


def exactly(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        assert part, "the connection has ended"
        data += part
    return data


class Delegate:
    """The client side of p2p_libp2p_client."""

    def __init__(self, at, node, key):
        host, port = at.rsplit(":", 1)
        self.address, self.came = key.address, []
        pem = ssl.get_server_certificate((host, int(port)), timeout=PATIENCE)
        context = ssl.create_default_context(cadata=pem)
        context.check_hostname, context.verify_flags = False, context.verify_flags | ssl.VERIFY_X509_STRICT  # as Python 3.13 has it
        self.socket = context.wrap_socket(socket.create_connection((host, int(port)), PATIENCE))
        certificate = x509.load_der_x509_certificate(self.socket.getpeercert(True))
        assert isinstance(certificate.public_key().curve, ec.SECP256R1)
        point = certificate.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), bytes.fromhex(node))
        theirs.verify(self.frame(), hashlib.sha256(point).digest(), SHA)
        record = fields((1, "acn"), (2, "fetchai"), (3, key.address), (4, key.public), (5, node), (6, key.sign(node.encode())))
        self.write(fields((8, fields((1, record)))))
        self.status()

    def frame(self):
        return exactly(self.socket, struct.unpack(">I", exactly(self.socket, 4))[0])

    def write(self, message):
        self.socket.sendall(struct.pack(">I", len(message)) + message)

    def step(self):
        """Takes one message: an envelope is kept and acknowledged. Returns whether it was a status."""
        m = parse(self.frame())
        if 5 in m:
            self.came.append(only(m[5][0], 1))
            self.write(fields((9, fields((1, b"")))))
            return False
        code = only(only(m[9][0], 1), 1, 0)
        assert code == 0, f"status {code}"
        return True

    def status(self):
        while not self.step():
            pass

    def send(self, frame):
        self.write(fields((5, fields((1, frame)))))
        self.status()

    def receive(self):
        while not self.came:
            self.step()
        return self.came.pop(0)
