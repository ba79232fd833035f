"""Verifies a bundle of evidence, as docs/evidence.md describes it. It needs Python 3.11 and nothing else, and makes no requests.

    python3 verify.py FILE [--policy tlog-policy] [--opa]

FILE is .jsonl or .jsonl.gz. The report on stdout is one JSON object. The exit code is 0 if there are no problems, 1 if there are, and 2 if
the command or a file cannot be used. --opa decides each call again with the program uimgate, which must be in the PATH.
"""
import base64
import binascii
import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zlib
from datetime import datetime

MAX_LINES, MAX_LINE, MAX_DOCUMENT, MAX_BYTES, MAX_PROBLEMS = 10**6, 1 << 20, 8 << 20, 4 << 30, 1000
MAX_ENTRY, MMD, PROOF_WINDOW = 16 << 10, 10, 5 * 60 + 60

# --- the report ---

problems, seen, not_checked = [], set(), {}
counts = dict.fromkeys(("lines", "entries", "charges", "logged", "proofs", "decisions", "policies", "agreements", "checkpoints", "statements",
                        "invoices"), 0)
more = 0


def problem(name, where, detail):
    global more
    if (name, where, detail) in seen:
        return
    if len(problems) == MAX_PROBLEMS:
        more += 1
        return
    seen.add((name, where, detail))
    problems.append({"name": name, "where": where, "detail": detail})


def skip(what, n=1):
    not_checked[what] = not_checked.get(what, 0) + n


class Bad(Exception):
    def __init__(self, name, detail):
        super().__init__(detail)
        self.name, self.detail = name, detail


MALFORMED = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError, ZeroDivisionError)


def check(where, name, f):
    """Runs a function and reports what it raises."""
    try:
        return f()
    except Bad as e:
        problem(e.name, where, e.detail)
    except MALFORMED:
        problem(name, where, "it does not have the required form")
    return None


# --- JSON, RFC 8785, base64, hashes ---

def pairs(list_):
    out = dict(list_)
    if len(out) != len(list_):
        raise ValueError("a member occurs twice")
    return out


def no_constant(name):
    raise ValueError(name + " is not JSON")


STRICT, LENIENT = (json.JSONDecoder(parse_constant=no_constant, object_pairs_hook=hook) for hook in (pairs, None))
ENCODER = json.JSONEncoder(ensure_ascii=False)


def loads(data, strict=True):
    text = data.decode("utf-8") if isinstance(data, (bytes, bytearray)) else data
    return (STRICT if strict else LENIENT).decode(text)


def strict_object(data):
    v = loads(data)
    if not isinstance(v, dict):
        raise ValueError("not one object")
    return v


def number(v):
    """A number as ECMAScript writes it."""
    if isinstance(v, int) and abs(v) < 10**21:
        v = float(v) if abs(v) > 2**53 else v
        if isinstance(v, int):
            return str(v)
    if v == 0:
        return "0"
    mantissa, _, exponent = repr(abs(float(v))).partition("e")
    units, _, parts = mantissa.partition(".")
    parts = "" if parts == "0" else parts
    digits, point = (units + parts).lstrip("0"), len(units) + int(exponent or 0)
    point -= len(units + parts) - len(digits) if units == "0" else 0
    digits = digits.rstrip("0")
    n = len(digits)
    if n <= point <= 21:
        out = digits + "0" * (point - n)
    elif 0 < point <= 21:
        out = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        out = "0." + "0" * -point + digits
    else:
        out = digits[0] + ("." + digits[1:] if n > 1 else "") + "e" + ("+" if point > 0 else "-") + str(abs(point - 1))
    return ("-" if v < 0 else "") + out


def write(v):
    if isinstance(v, dict):
        return "{" + ",".join(write(k) + ":" + write(v[k]) for k in sorted(v, key=lambda s: s.encode("utf-16-be", "surrogatepass"))) + "}"
    if isinstance(v, list):
        return "[" + ",".join(map(write, v)) + "]"
    if isinstance(v, str) or v is None or isinstance(v, bool):
        return ENCODER.encode(v)
    return number(v)


def canonical(v):
    return write(v).encode()


def url(text, size=None):
    """Decodes base64url without padding. Each value has one encoding."""
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if b64url(raw) != text or size not in (None, len(raw)):
        raise ValueError("not base64url")
    return raw


def std(text, size=None):
    raw = base64.b64decode(text, validate=True)
    if base64.b64encode(raw).decode() != text or size not in (None, len(raw)):
        raise ValueError("not base64")
    return raw


def b64url(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def sha256(data):
    return hashlib.sha256(data).digest()


def digest(data):
    return "sha-256:" + b64url(sha256(data))


def node(a, b):
    return sha256(b"\x01" + a + b)


# --- amounts, in billionths ---

CURRENCY_FORM = re.compile(r"[A-Z]{3}")
AMOUNT = re.compile(r"-?(0|[1-9]\d{0,9})\.\d\d(\d{0,6}[1-9])?", re.ASCII)


def amount(text, signed=False):
    if not isinstance(text, str) or not AMOUNT.fullmatch(text) or text == "-0.00" or (text[0] == "-" and not signed):
        raise ValueError("not an amount")
    units, parts = text.lstrip("-").split(".")
    n = int(units) * 10**9 + int(parts.ljust(9, "0"))
    return -n if text[0] == "-" else n


def price(v):
    """An amount of a policy, which may have any decimal form."""
    m = re.fullmatch(r"(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,2}))?", str(v), re.ASCII)
    if not m:
        return None
    parts = m[2] or ""
    shift, n = 9 - len(parts) + int(m[3] or 0), int(m[1] + parts)
    if shift >= 0:
        return n * 10**shift
    return n // 10**-shift if n % 10**-shift == 0 else None


# --- Ed25519, RFC 8032 section 5.1, with points in extended coordinates ---

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)
ZERO = (0, 1, 1, 0)


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def point(data):
    """Decodes a point; None if the bytes are not a point in their only encoding."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if y >= P:
        return None
    x2 = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if x * x % P != x2:
        x = x * ROOT % P
    if x * x % P != x2 or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def table(p):
    """The multiples 1 to 15 of p, 16 p, 256 p, …: with them, a product costs 64 additions."""
    rows = []
    for _ in range(64):
        row = [ZERO]
        for _ in range(15):
            row.append(add(row[-1], p))
        rows.append(row)
        p = add(row[-1], p)
    return rows


def times(rows, n):
    p = ZERO
    for row in rows:
        if n & 15:
            p = add(p, row[n & 15])
        n >>= 4
    return p


BASE = table(point(bytes.fromhex("58" + "66" * 31)))
tables = {}


def ed25519(public, message, signature):
    if len(public) != 32 or len(signature) != 64:
        return False
    if public not in tables:
        p = point(public)
        tables[public] = table((P - p[0], p[1], 1, P - p[3])) if p else None
    s = int.from_bytes(signature[32:], "little")
    if tables[public] is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    x, y, z, _ = add(times(BASE, s), times(tables[public], h))  # s B - h A, which must be R
    inverse = pow(z, -1, P)
    x, y = x * inverse % P, y * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]


# --- RSA and ECDSA, with which agents may sign ---

DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
Q = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551
B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b
G = (0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296, 0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5)


def rsa(key, message, signature):
    n, e = key
    size = (n.bit_length() + 7) // 8
    if len(signature) != size:
        return False
    want = b"\x00\x01" + b"\xff" * (size - 54) + b"\x00" + DIGEST_INFO + sha256(message)
    return pow(int.from_bytes(signature, "big"), e, n).to_bytes(size, "big") == want


def sum_p256(p, q):
    if p is None or q is None:
        return p or q
    if p[0] == q[0] and (p[1] + q[1]) % Q == 0:
        return None
    slope = (3 * p[0] * p[0] - 3) * pow(2 * p[1], -1, Q) if p == q else (q[1] - p[1]) * pow(q[0] - p[0], -1, Q)
    x = (slope * slope - p[0] - q[0]) % Q
    return (x, (slope * (p[0] - x) - p[1]) % Q)


def ecdsa(key, message, r, s):
    if not (0 < r < N and 0 < s < N) or (key[1] ** 2 - key[0] ** 3 + 3 * key[0] - B) % Q:
        return False
    w = pow(s, -1, N)
    u, v = int.from_bytes(sha256(message), "big") * w % N, r * w % N
    both, out = sum_p256(G, key), None
    for i in reversed(range(256)):
        out = sum_p256(out, out)
        out = sum_p256(out, (None, G, key, both)[(u >> i & 1) + 2 * (v >> i & 1)])
    return out is not None and out[0] % N == r


# --- keys and signatures ---

keys = {}  # (purpose, kid) → {alg, raw, kid}


def from_jwk(jwk):
    names = {"OKP": ("crv", "kty", "x"), "EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n")}.get(jwk["kty"])
    if names is None or jwk.get("crv", "Ed25519" if jwk["kty"] == "OKP" else "P-256") != {"OKP": "Ed25519"}.get(jwk["kty"], "P-256"):
        return None
    only = {n: jwk[n] for n in names}
    if jwk["kty"] == "OKP":
        alg, raw = "EdDSA", url(jwk["x"], 32)
    elif jwk["kty"] == "EC":
        alg, raw = "ES256", (int.from_bytes(url(jwk["x"], 32), "big"), int.from_bytes(url(jwk["y"], 32), "big"))
    else:
        alg, raw = "RS256", (int.from_bytes(url(jwk["n"]), "big"), int.from_bytes(url(jwk["e"]), "big"))
    return {"alg": alg, "raw": raw, "kid": b64url(sha256(canonical(only)))}


def der(data):
    """Splits the first DER value of data: its tag, its contents, and what follows."""
    size, at = data[1], 2
    if size > 127:
        at = 2 + (size & 127)
        size = int.from_bytes(data[2:at], "big")
    if at + size > len(data):
        raise ValueError("not DER")
    return data[0], data[at:at + size], data[at + size:]


def integer(data):
    tag, raw, rest = der(data)
    if tag != 2:
        raise ValueError("not an integer")
    return int.from_bytes(raw, "big"), rest


def from_spki(data):
    kind, bits, _ = der((inner := der(data)[1]))[1], None, None
    bits = der(der(inner)[2])[1][1:]
    if bytes.fromhex("2b6570") in kind:
        return from_jwk({"kty": "OKP", "crv": "Ed25519", "x": b64url(bits)})
    if bytes.fromhex("2a8648ce3d030107") in kind:
        return from_jwk({"kty": "EC", "crv": "P-256", "x": b64url(bits[1:33]), "y": b64url(bits[33:65])})
    if bytes.fromhex("2b8104000a") in kind:
        # The address of an agent of another protocol encodes this key. It signs agreements and calls only in that protocol, and never a JWS.
        only = {"crv": "secp256k1", "kty": "EC", "x": b64url(bits[1:33]), "y": b64url(bits[33:65])}
        return {"alg": "none", "raw": None, "kid": b64url(sha256(canonical(only)))}
    if bytes.fromhex("2a864886f70d010101") in kind:
        n, rest = integer(der(bits)[1])
        e, _ = integer(rest)
        plain = lambda v: b64url(v.to_bytes((v.bit_length() + 7) // 8, "big"))
        return from_jwk({"kty": "RSA", "n": plain(n), "e": plain(e)})
    return None


def parse_jws(text, limit):
    """A compact JWS. It raises ValueError if the text is not one, or if its header has an extension."""
    parts = text.split(".") if isinstance(text, str) and len(text) <= limit else []
    if len(parts) != 3:
        raise ValueError("not a compact JWS")
    header = strict_object(url(parts[0]))
    if any(n in header for n in ("crit", "b64", "zip", "enc")):
        raise ValueError("the header has an extension")
    return {"header": header, "payload": url(parts[1]), "signature": url(parts[2]), "input": (parts[0] + "." + parts[1]).encode()}


def type_of(j):
    return re.sub("^application/", "", str(j["header"].get("typ")).lower())


def signed(j, key):
    alg, s = j["header"].get("alg"), j["signature"]
    if key["raw"] is None or ("EdDSA" if alg == "Ed25519" else alg) != key["alg"]:
        return False
    if key["alg"] == "EdDSA":
        return ed25519(key["raw"], j["input"], s)
    if key["alg"] == "RS256":
        return rsa(key["raw"], j["input"], s)
    return len(s) == 64 and ecdsa(key["raw"], j["input"], int.from_bytes(s[:32], "big"), int.from_bytes(s[32:], "big"))


def detached(key, scheme, text, s):
    """Verifies a detached signature. None: the scheme is not supported."""
    if scheme == "ed25519" and key["alg"] == "EdDSA":
        return ed25519(key["raw"], text, s)
    if scheme == "rsa-pkcs1v15" and key["alg"] == "RS256":
        return rsa(key["raw"], text, s)
    if scheme == "ecdsa-p256-raw" and key["alg"] == "ES256":
        return len(s) == 64 and ecdsa(key["raw"], text, int.from_bytes(s[:32], "big"), int.from_bytes(s[32:], "big"))
    if scheme == "ecdsa-p256-der" and key["alg"] == "ES256":
        r, rest = integer(der(s)[1])
        return ecdsa(key["raw"], text, r, integer(rest)[0])
    return None if scheme == "rsa-pss" and key["raw"] is not None else False


# --- entries ---

STATES = ("held", "captured", "released", "unresolved")


def text(v):
    return isinstance(v, str) and v != ""


def whole(v):
    return isinstance(v, int) and not isinstance(v, bool) and 0 <= v <= 2**53 - 1


def valid(f):
    def test(v):
        try:
            f(v)
            return True
        except (ValueError, TypeError):
            return False
    return test


is_hash = valid(lambda v: url(v, 32))
is_digest = valid(lambda v: url(v.removeprefix("sha-256:"), 32) if isinstance(v, str) and v.startswith("sha-256:") else url(0))
is_amount = valid(lambda v: amount(v, True))


def time(text):
    """Seconds since 1970. A fraction of a second is cut to milliseconds."""
    m = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)", text, re.ASCII)
    return datetime.fromisoformat(m[1] + m[3].replace("Z", "+00:00")).timestamp() + float((m[2] or ".0")[:4])


def is_time(v):
    return isinstance(v, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", v, re.ASCII) and valid(time)(v)


def shape(members, optional=()):
    return lambda v: (isinstance(v, dict) and all(k in members and members[k](v[k]) for k in v) and
                      all(k in v or k in optional for k in members))


COMMON = {"v": lambda v: v == "uim-entry-1", "iss": text, "epoch": whole, "kind": text, "by": text, "at": is_time}
CHAINED = COMMON | {
    "account": shape({"agent": text, "currency": lambda v: isinstance(v, str) and CURRENCY_FORM.fullmatch(v)}), "k": whole, "prev": is_hash}
state = lambda v: v in STATES  # noqa: E731
TOP_UP = shape(CHAINED | {"amount": is_amount, "ref": text, "salt": text}, ("prev", "by", "ref", "salt"))
TERM_TEXTS = dict.fromkeys(("intent", "rule", "agr", "pat", "jkt", "outcome"), text) | dict.fromkeys(("pol", "req", "proof", "dec", "ans"), is_digest)
KINDS = {
    "charge": shape(CHAINED | TERM_TEXTS | {"id": text, "from": state, "to": state, "amount": is_amount, "ans_form": lambda v: v == "jcs"},
                    ("prev", "from", "by", "ans_form", *TERM_TEXTS)),
    "top-up": TOP_UP,
    "reversal": TOP_UP,
    "carry": shape(CHAINED | {"salt": text, "through": shape({"k": whole, "hash": is_hash}),
                              "sums": shape(dict.fromkeys(("captured", "held", "topped_up", "unresolved"), is_amount))},
                   ("prev", "by", "salt", "through")),
    "key": shape(COMMON | {"purpose": text, "kid": text, "jwk": lambda v: isinstance(v, dict), "vkey": text, "salt": text}, ("by", "vkey", "salt")),
    "restored": shape(COMMON | {"salt": text, "last": shape({"epoch": whole, "size": whole, "root": is_hash})}, ("by", "salt", "last")),
}


def parse_entry(data):
    if len(data) > MAX_ENTRY:
        raise Bad("SIGNATURE", "the entry has more than 16 KiB")
    try:
        e = loads(data, False)
    except MALFORMED:
        raise Bad("SIGNATURE", "the payload is not JSON") from None
    try:
        same = isinstance(e, dict) and canonical(e) == data
    except MALFORMED:
        same = False
    if not same:
        raise Bad("SIGNATURE", "the entry is not in the form of RFC 8785, or has a member twice")
    if not isinstance(e.get("kind"), str) or e["kind"] not in KINDS or not KINDS[e["kind"]](e):
        raise Bad("SIGNATURE", "the entry lacks a member, or has an unknown or malformed one")
    if "k" in e and ("prev" in e) != (e["k"] > 0):
        raise Bad("SIGNATURE", "want the member prev if k is above 0, and only then")
    return e


# --- the bundle ---

head = None
policies, agreements, accounts, executions, leaves, issuers, nonces = {}, {}, {}, {}, {}, {}, {}
checkpoints, consistency, inclusion, totals, restored, decisions, proven = {}, [], [], [], [], [], set()


def keys_line(line, at):
    listed_keys = line["jwks"]["keys"]
    if not isinstance(listed_keys, list):
        raise Bad("KEY", "want a JWKS")
    for jwk in listed_keys[:1000]:
        try:
            key = from_jwk(jwk)
        except MALFORMED:
            key = None
        if key is None:
            skip("keys of other types")
        elif jwk.get("kid") != key["kid"]:
            problem("KEY", at, "the kid of a key is not its thumbprint")
        else:
            keys[jwk.get("uim_purpose") or "pat", key["kid"]] = key


def add_policy(uid, claimed, data):
    try:
        document = strict_object(data)
        is_ = digest(canonical(document))
    except MALFORMED:
        raise Bad("POLICY", "the document is not one JSON object, or has a member twice") from None
    if is_ != claimed:
        raise Bad("POLICY", "the document has another digest")
    if uid is not None and uid not in (document.get("uid"), document.get("@id")):
        raise Bad("POLICY", "the document has another uid")
    policies[is_] = document
    return is_


def policy_line(line, _):
    counts["policies"] += 1
    plain = line["document"].translate(str.maketrans("-_", "+/")).rstrip("=")
    add_policy(line.get("uid"), line.get("digest"), base64.b64decode(plain + "=" * (-len(plain) % 4)))


def budget_changes(a, c, previous):
    """Verifies the changes of the budget of a consent, whose record has the payload c."""
    changes, proved = a.get("budget_changes", []), 0
    if not isinstance(changes, list) or len(changes) > 200 or (changes and not isinstance(c.get("budget"), dict)):
        raise Bad("AGREEMENT", "only the budget of a consent can change")
    for n, change in enumerate(changes, 1):
        def wrong(rest, n=n):
            raise Bad("AGREEMENT", f"change {n} of the budget {rest}")
        j = parse_jws(change["record"], 2 << 20)
        r = strict_object(j["payload"])
        if type_of(j) != "uim-budget+jwt" or (r["iss"], r["sub"], r["agr"]) != (a["issuer"], a["agent_id"], a["id"]):
            wrong("belongs to another consent")
        if r["previous"] != digest(previous):
            wrong("does not follow the record before it")
        previous = change["record"].encode("ascii")
        if any(r["budget"][name] != c["budget"][name] for name in ("currency", "period", "intents")):
            wrong("changes more than the amounts")
        if amount(r["budget"]["per_call"]) > amount(r["budget"]["amount"]):
            wrong("permits more for one call than in all")
        if ("key_gone" in change) == ("gateway_public_key" in change):
            wrong("has no key, and does not state that the key is gone")
        if change.get("key_gone") is True:
            continue
        key = from_spki(url(change["gateway_public_key"]))
        if key is None or key["kid"] != j["header"].get("kid"):
            wrong("has another key")
        if not signed(j, key):
            problem("AGREEMENT", a["id"], f"the signature of change {n} of the budget does not verify")
        proved = n
    if len(changes) > proved:
        skip("changes of budgets whose keys are gone", len(changes) - proved)


def agreement_line(line, _):
    def wrong(detail):
        raise Bad("AGREEMENT", detail)
    counts["agreements"] += 1
    bundle = line.get("export") or line
    a, p = bundle["agreement"], bundle["policy"]
    if add_policy(p["uid"], p["digest"], url(p["document"])) != a["policy_digest"] or p["uid"] != a["policy_uid"]:
        wrong("the agreement names another policy")
    if a["issuer"] != head["issuer"] or head["agent"] not in (a["agent_id"], a["agent_id"] + " static"):
        wrong("the agreement belongs to another service or agent")
    consent = a["assurance"] == "consent"
    key = from_spki(url(a["gateway_public_key" if consent else "agent_public_key"])) or wrong("the key has an unknown type")
    if a.get("jkt", "") != ("" if consent else key["kid"]):
        wrong("the key is not the one that jkt names")
    signature = url(a["signature"])
    agreements[a["id"]] = {"key": key, "jkt": a.get("jkt", ""), "policy": a["policy_digest"], "signature": digest(signature)}
    if a["form"].startswith("detached:"):
        _, form, scheme = a["form"].split(":")
        data = url(p["document"] if form == "served" else a["signed"])
        if digest(canonical(strict_object(data))) != a["policy_digest"]:
            wrong("the signed text is not the policy")
        good = detached(key, scheme, data, signature)
        if good is None:
            skip("agreements with a signature of RSA-PSS")
        elif not good:
            wrong("the signature does not verify")
        return
    if a["form"] not in ("jws-agreement", "jws-policy", "consent"):
        skip("agreements in forms of other protocols")
        return
    j = parse_jws(signature.decode("ascii"), 2 << 20)
    if not signed(j, key):
        problem("AGREEMENT", a["id"], "the signature does not verify")
    if a["form"] == "jws-policy":
        if type_of(j).startswith("uim-") or digest(canonical(strict_object(j["payload"]))) != a["policy_digest"]:
            wrong("the signed text is not the policy")
        return
    c = strict_object(j["payload"])
    if consent:
        budget_changes(a, c, signature)
    if type_of(j) != ("uim-consent+jwt" if consent else "uim-agreement+jwt"):
        wrong("the JWS has another type")
    audience, agent = (c["iss"], c["sub"]) if consent else (c["aud"], c["iss"])
    if isinstance(audience, list):
        audience = ",".join(audience)
    if (audience != a["issuer"] or agent != a["agent_id"] or c["policy"]["digest"] != a["policy_digest"] or
            c["policy"].get("uid", a["policy_uid"]) != a["policy_uid"] or c.get("jti", c.get("nonce")) != a["nonce"] or
            c.get("scope", []) != a.get("scope", [])):
        wrong("the agreement differs from the one that was signed")
    if abs(time(a["created_at"]) - c["iat"]) > 301:
        wrong("the agreement was not made at the time in the bundle")


def key_entry(e, j):
    key = keys.get((e["purpose"], j["header"]["kid"]))
    if key is None:
        raise Bad("KEY", "the key that signed the entry is unknown, or has another purpose")
    if e.get("by") != j["header"]["kid"]:
        raise Bad("KEY", "the key that the entry names as the previous one did not sign it")
    try:
        own = from_jwk(e["jwk"])
    except MALFORMED:
        own = None
    if own is None or own["kid"] != e["kid"]:
        raise Bad("KEY", "the kid is not the thumbprint of the key")
    if "vkey" in e and parse_verifier(e["vkey"])["raw"] != own["raw"]:
        raise Bad("KEY", "the verifier key is another key")
    keys[e["purpose"], own["kid"]] = own
    return key


def entry_line(line, at):
    try:
        j = parse_jws(line.get("jws"), 24 << 10)
    except MALFORMED:
        raise Bad("SIGNATURE", "the text is not a compact JWS") from None
    if type_of(j) != "uim-receipt+jwt" or not text(j["header"].get("kid")):
        raise Bad("SIGNATURE", "want the type uim-receipt+jwt and a kid")
    e = parse_entry(j["payload"])
    where = f'{e["account"]["currency"]} {e["k"]}' if "account" in e else at
    counts["entries"] += 1
    leaf, key = b64url(sha256(b"\x00" + j["payload"])), None
    try:
        if e["kind"] == "key":
            key = key_entry(e, j)
        else:
            key = keys.get(("log" if e["kind"] == "restored" else "receipt", j["header"]["kid"]))
            if key is None:
                raise Bad("KEY", "the key is unknown, or does not sign entries of this kind")
        if key["alg"] != "EdDSA":
            raise Bad("SIGNATURE", "the algorithm is not EdDSA")
    except Bad as err:
        problem(err.name, where, err.detail)
    if key and not signed(j, key):
        problem("SIGNATURE", where, "the signature does not verify")
    if issuers.setdefault(e["epoch"], e["iss"]) != e["iss"]:
        problem("EPOCH", where, "the issuer changes within an epoch")
    if leaf in leaves:
        problem("DUPLICATE", where, "the entry occurs twice")
        return
    moment = time(e["at"])
    leaves[leaf] = {"where": where, "epoch": e["epoch"], "at": moment}
    if e["kind"] == "restored":
        restored.append({"at": at, "last": e.get("last"), "epoch": e["epoch"]})
    if "account" not in e:
        return
    if e["account"]["agent"] != head["agent"]:
        problem("AGREEMENT", where, "the entry belongs to another agent")
    a = accounts.setdefault(e["account"]["currency"], {"list": [], "by_k": {}, "last": -1})
    if e["k"] in a["by_k"]:
        problem("FORK", where, "there are two entries with this number")
        return
    a["by_k"][e["k"]] = leaf
    if e["k"] < a["last"]:
        problem("ORDER", where, f'the entry comes after entry {a["last"]}')
    a["last"] = max(a["last"], e["k"])
    if e["kind"] == "charge":
        charge(e, where, moment)
    kept = {n: e.get(n) for n in ("k", "prev", "kind", "id", "to", "epoch", "intent", "rule", "agr", "pol", "through", "sums")}
    a["list"].append(kept | {"from": e.get("from", ""), "leaf": leaf, "at": moment, "where": where,
                             "nano": amount(e["amount"], True) if "amount" in e else 0})


# The members that every entry of an execution repeats, with the names of the problems if one differs.
TERMS = {"amount": "AMOUNT", "req": "REQUEST", "pol": "POLICY", "rule": "POLICY", "intent": "POLICY", "agr": "AGREEMENT", "pat": "AGREEMENT",
         "jkt": "AGREEMENT", "proof": "PROOF", "dec": "DECISION"}


def charge(e, where, at):
    x = executions.setdefault(e["id"], {})
    if amount(e["amount"], True) <= 0:
        problem("AMOUNT", where, "a charge must be above zero")
    if "ans_form" in e and "ans" not in e:
        problem("ANSWER", where, "the entry has the form of a digest, but no digest")
    if "ans" in e and e["to"] != "captured":
        problem("ANSWER", where, "only a captured charge has the digest of an output")
    if e["to"] == "captured":
        x["captured"] = True
    if "terms" not in x:
        counts["charges"] += 1
        x["where"], x["iss"], x["terms"] = where, e["iss"], {n: e.get(n) for n in TERMS}
        terms(e, where)
    else:
        for n, name in TERMS.items():
            if x["terms"][n] != e.get(n):
                problem(name, where, f"the member {n} differs from an earlier entry of the execution")
    if "from" not in e:
        x["began"], x["began_where"] = at, where


def terms(e, where):
    a = agreements.get(e.get("agr"))
    if a is None:
        problem("AGREEMENT", where, "the bundle does not have the agreement")
    elif a["jkt"] != e.get("jkt", a["jkt"]):
        problem("AGREEMENT", where, "the agreement has another key")
    priced(e, where)
    if a is not None and e.get("pol", a["policy"]) != a["policy"]:
        succeeded(a, e, where)


# --- prices of a policy ---

def local(s):
    return re.split("[/#:]", s)[-1] if isinstance(s, str) else ""


def listed(v):
    return v if isinstance(v, list) else [] if v is None else [v]


def member(o, *names):
    return next((o[k] for k in o if local(k) in names), None)


def value(v):
    return next((v[n] for n in ("@value", "@id", "value") if v.get(n) is not None), None) if isinstance(v, dict) else v


CURRENCIES = {"Euro": "EUR", "United_States_dollar": "USD", "Pound_sterling": "GBP", "Japanese_yen": "JPY", "Swiss_franc": "CHF"}


def pointed(document, rule):
    if not rule.startswith("/"):
        todo = [document]
        while todo:
            v = todo.pop()
            if isinstance(v, dict):
                if v is not document and rule in (v.get("uid"), v.get("@id")) and len(v) > 1:
                    return v
                todo.extend(v.values())
            elif isinstance(v, list):
                todo.extend(v)
        return None
    v = document
    for k in rule[1:].split("/"):
        k = k.replace("~1", "/").replace("~0", "~")
        if isinstance(v, dict) and k in v:
            v = v[k]
        elif isinstance(v, list) and re.fullmatch(r"0|[1-9]\d{0,5}", k, re.ASCII) and int(k) < len(v):
            v = v[int(k)]
        else:
            return None
    return v


def action_name(a):
    if isinstance(a, dict):
        inner = member(a, "value")
        return local(value(inner if inner is not None else a))
    return local(a)


def payment(duty):
    """What a duty charges: amount, currency, and whether it always charges. None: it does not charge."""
    if not isinstance(duty, dict):
        return None
    pays = next((a for a in listed(member(duty, "action")) if action_name(a) in ("pay", "compensate")), None)
    if pays is None:
        return None
    paid, unit, always = member(duty, "amount"), member(duty, "unit", "currency"), True
    if isinstance(paid, dict):
        unit, paid = unit if unit is not None else member(paid, "unit", "currency"), value(paid)
    for c in listed(member(duty, "constraint")) + (listed(member(pays, "refinement")) if isinstance(pays, dict) else []):
        left = local(value(member(c, "leftOperand"))) if isinstance(c, dict) else ""
        if left == "payAmount":
            paid, unit = value(member(c, "rightOperand")), member(c, "unit") or unit
        elif left != "unitOfCount":
            always = False
    code = local(value(unit))
    return price(paid), CURRENCIES.get(code, code), always


def sums(document, rule, currency):
    """The amounts that a rule can charge."""
    found = {0}
    duties = [(d, True) for d in listed(member(rule, "duty"))]
    duties += [(o, member(o, "target", "assignee") is None) for o in listed(member(document, "obligation")) if isinstance(o, dict)]
    for duty, binds in duties:
        p = payment(duty)
        if p and p[0] is not None and p[1] == currency and len(found) <= 1024:
            found = {t + p[0] for t in found} | (set() if p[2] and binds else found)
    return found


GOVERNING = ("context", "uid", "id", "type", "conflict", "inheritFrom", "target", "action", "assigner", "assignee")


def plain(name):
    return local(name).replace("@", "", 1)


def clause(document, intent):
    """The terms of a policy for an intent: its rules, except those for other intents alone, and the members that apply to all rules."""
    found = []
    for name, v in document.items():
        if plain(name) in GOVERNING:
            found.append(plain(name) + write(v))
        if plain(name) not in ("permission", "prohibition", "obligation"):
            continue
        for rule in listed(v):
            if not isinstance(rule, dict):
                found.append(plain(name) + write(rule))
                continue
            own = {k: inner for k, inner in rule.items() if plain(k) not in ("target", "uid", "id")}
            targets = [t for k in rule if plain(k) == "target" for t in listed(rule[k])]
            uids = [next(iter(t.values())) if isinstance(t, dict) and [plain(k) in ("uid", "id") for k in t] == [True] else t for t in targets]
            if not targets or any(not isinstance(u, str) or not re.fullmatch(r"[^:/\s]+:[^:/\s]+:v\d+", u, re.ASCII) for u in uids):
                own["target"] = targets
            elif intent not in uids:
                continue
            found.append(plain(name) + write(own))
    return sorted(found)


successions = {}


def succeeded(a, e, where):
    """Checks a charge under a policy other than that of the agreement: the agent has agreed to that policy as well, or its terms of the
    intent are the same. If they are written in another way, --opa decides the call under the agreed policy as well."""
    was, now = policies.get(a["policy"]), policies.get(e["pol"])
    if was is None or now is None or any(o["jkt"] == a["jkt"] and o["policy"] == e["pol"] for o in agreements.values()):
        return
    id_ = (a["policy"], e["pol"], e.get("intent"))
    if id_ not in successions:
        successions[id_] = clause(was, e.get("intent")) == clause(now, e.get("intent"))
    if successions[id_]:
        return
    nano = amount(e["amount"], True)
    if was.get("uid") != now.get("uid") or not any(
            isinstance(r, dict) and nano in sums(was, r, e["account"]["currency"]) for r in listed(member(was, "permission"))):
        problem("POLICY", where, "the agreement is to another policy, whose terms of the intent differ")
        return
    executions[e["id"]]["agreed"] = a["policy"]


def priced(e, where):
    if "pol" not in e or "rule" not in e:
        skip("charges without a policy")
        return
    document = policies.get(e["pol"])
    if document is None:
        problem("POLICY", where, "the bundle does not have the policy")
        return
    nano = amount(e["amount"], True)

    def has(d, r):
        return isinstance(r, dict) and nano in sums(d, r, e["account"]["currency"])
    rule = pointed(document, e["rule"])
    if has(document, rule):
        return
    if not isinstance(rule, dict):
        problem("POLICY", where, "the policy does not have the rule")
        return
    problem("AMOUNT", where, "the amount is not the one that the policy states at the rule")


# --- proofs of key and decisions ---

def proof_line(line, _):
    counts["proofs"] += 1
    x = executions.setdefault(line["execution"], {})
    if not text(line.get("jws")):
        raise Bad("PROOF", "want a compact JWS")
    x["proof"] = digest(line["jws"].encode())
    j = parse_jws(line["jws"], 8 << 10)
    c = strict_object(j["payload"])
    if type_of(j) == "uim-confirmation+jwt":
        confirmation_of(x, j, c, line["execution"])
        return
    if type_of(j) != "uim-proof+jwt":
        raise Bad("PROOF", "want the type uim-proof+jwt or uim-confirmation+jwt")
    aud = c.get("aud")
    x["claims"] = {"kid": j["header"].get("kid"), "aud": ",".join(map(str, aud)) if isinstance(aud, list) else aud, "pat": c.get("pat"),
                   "digest": "sha-256:" + str(c.get("digest")), "iat": c.get("iat")}
    a = next((a for a in agreements.values() if a["key"]["kid"] == j["header"].get("kid")), None)
    if a and not signed(j, a["key"]):
        problem("PROOF", line["execution"], "the signature of the proof does not verify")


# A call under the consent of a person has no proof of key. If the person confirmed the call, the gateway has signed a record of that.
def confirmation_of(x, j, c, execution):
    x["confirmed"] = c
    a = next((a for a in agreements.values() if a["key"]["kid"] == j["header"].get("kid")), None)
    if not a:
        skip("signatures of confirmations whose key the bundle does not have")
    elif not signed(j, a["key"]):
        problem("PROOF", execution, "the signature of the confirmation does not verify")


# CONFIRMATION_WINDOW is how long before its call a confirmation can have been made, in seconds.
CONFIRMATION_WINDOW = 10 * 60 + 60


def confirmed_call(x, t, where):
    c = x["confirmed"]
    if t["jkt"] is not None or c.get("assurance") != "confirmed":
        problem("PROOF", where, "a confirmation is not a proof of key")
    if c.get("iss") != x["iss"]:
        problem("PROOF", where, "the confirmation is for another service")
    if c.get("agr") != t["agr"]:
        problem("PROOF", where, "the confirmation is for another consent")
    if c.get("pol") != t["pol"]:
        problem("POLICY", where, "the person confirmed the call under another policy")
    if c.get("intent") != t["intent"] or "sha-256:" + str(c.get("digest")) != t["req"]:
        problem("REQUEST", where, "the person confirmed another call")
    if c.get("amount") != t["amount"]:
        problem("AMOUNT", where, "the person confirmed another amount")
    if "began" in x and not (isinstance(c.get("iat"), (int, float)) and -60 <= x["began"] - c["iat"] <= CONFIRMATION_WINDOW):
        problem("PROOF", where, "the confirmation was made at another time")


def decision_line(line, _):
    counts["decisions"] += 1
    if not text(line.get("asked")):
        raise Bad("DECISION", "want the text of the question")
    x, q = executions.setdefault(line["execution"], {}), loads(line["asked"], False)
    x["asked"] = digest(line["asked"].encode())
    x["target"] = (q.get("request") or {}).get("target")
    if line.get("sha256") != x["asked"]:
        problem("DECISION", line["execution"], "the digest of the line is not that of its text")
    if use_opa:
        decisions.append((line["execution"], line["asked"]))


def finish_execution(id_, x):
    if "terms" not in x:
        problem("UNKNOWN_EXECUTION", id_, "a proof or a decision names an execution that has no entry")
        return
    t, where, p = x["terms"], x.get("began_where", x["where"]), x.get("claims")
    if "agreed" in x and not (use_opa and "asked" in x):
        skip("charges under a policy that is written differently from the agreed one")
    if "asked" in x:
        if x["asked"] != t["dec"]:
            problem("DECISION", where, "the question has another digest")
        elif x["target"] != t["intent"]:
            problem("DECISION", where, "the question is about another intent")
    elif t["dec"] is not None and "began" in x:
        if "proofs" not in head:
            skip("decisions that the bundle does not have")
        else:
            problem("DECISION", where, "the bundle does not have the question")
    if "proof" in x and x["proof"] != t["proof"]:
        problem("PROOF", where, "the proof has another digest")
    elif "confirmed" in x:
        confirmed_call(x, t, where)
    elif p:
        if p["kid"] != t["jkt"]:
            problem("PROOF", where, "another key signed the proof")
        if p["aud"] != x["iss"]:
            problem("PROOF", where, "the proof is for another service")
        if p["pat"] != t["pat"]:
            problem("PROOF", where, "the proof is for another PAT")
        if p["digest"] != t["req"]:
            problem("REQUEST", where, "the agent signed another request")
        if "began" in x and not (isinstance(p["iat"], (int, float)) and abs(p["iat"] - x["began"]) <= PROOF_WINDOW):
            problem("PROOF", where, "the proof was made at another time")
    elif t["proof"] is not None and "began" in x:
        if head.get("proofs") is True:
            problem("PROOF", where, "the bundle does not have the proof")
        else:
            skip("proofs of key that the bundle does not have")
    if t["proof"] is not None and x.get("captured"):
        if t["proof"] in nonces:
            problem("DUPLICATE", where, f'the proof was used for entry {nonces[t["proof"]]} as well')
        nonces[t["proof"]] = where


# --- the chain of an account ---

NEXT = {"": ("held",), "held": ("captured", "released", "unresolved"), "unresolved": ("captured", "released")}
SUMS = ("topped_up", "held", "unresolved", "captured")


def position(s):
    return {n: amount(s[n], True) for n in SUMS}


def move(p, e):
    """Applies an entry to a position. Held includes unresolved, as in statements."""
    def shift(of, nano):
        if of in ("held", "unresolved"):
            p["held"] += nano
        if of in ("unresolved", "captured"):
            p[of] += nano
    if e["kind"] == "charge":
        shift(e["from"], -e["nano"])
        shift(e["to"], e["nano"])
    if e["kind"] in ("top-up", "reversal"):
        p["topped_up"] += e["nano"]
    if e["kind"] == "carry" and e["k"] == 0:
        p.update(position(e["sums"]))


def finish_account(a):
    chain, calls = sorted(a["list"], key=lambda e: e["k"]), {}
    a["list"] = chain
    carries = {e["through"]["k"]: e for e in chain if e["through"]}
    before, epoch, p, first = None, 0, None, carries.get(chain[0]["k"] - 1)
    if chain[0]["k"] == 0:
        p = dict.fromkeys(SUMS, 0)
    elif first:
        p = position(first["sums"])
        if first["through"]["hash"] != chain[0]["prev"]:
            problem("FORK", chain[0]["where"], f'the entry does not follow the one that carry {first["k"]} names')
    complete = chain[0]["k"] == 0 and not chain[0]["sums"]
    for e in chain:
        if before and e["k"] != before["k"] + 1:
            problem("GAP", e["where"], f'entries {before["k"] + 1} to {e["k"] - 1} are missing')
            p = None
        elif before and e["prev"] != before["leaf"]:
            problem("FORK", e["where"], f'the entry does not follow entry {before["k"]}: it has the hash of another')
        if e["epoch"] < epoch:
            problem("EPOCH", e["where"], f'the epoch decreases from {epoch} to {e["epoch"]}')
        epoch = max(epoch, e["epoch"])
        through = e["through"]
        if e["kind"] == "carry":
            if not through and e["k"] > 0:
                problem("GAP", e["where"], "the carry does not name the last entry that it replaces")
            if through and through["k"] >= e["k"]:
                problem("ORDER", e["where"], "the carry replaces entries that come after it")
            if through and a["by_k"].get(through["k"], through["hash"]) != through["hash"]:
                problem("FORK", e["where"], f'the carry replaces another entry {through["k"]}')
        if (e["kind"] == "top-up" and e["nano"] <= 0) or (e["kind"] == "reversal" and e["nano"] >= 0):
            problem("AMOUNT", e["where"], "the sign of the amount is wrong")
        if e["kind"] == "charge":
            was = calls.get(e["id"])
            if e["to"] not in NEXT.get(e["from"], ()):
                problem("STATE", e["where"], f'a charge must not change from "{e["from"]}" to "{e["to"]}"')
            elif (e["from"] != "" and complete) if was is None else was != e["from"]:
                problem("STATE", e["where"], f'the execution was "{was or ""}", and changes from "{e["from"]}"')
            calls[e["id"]] = e["to"]
        if p:
            move(p, e)
            if min(p.values()) < 0:
                problem("AMOUNT", e["where"], "a sum of the account is below zero")
                p = None
        cut = carries.get(e["k"])
        if p and cut and cut["through"]["hash"] == e["leaf"] and position(cut["sums"]) != p:
            problem("AMOUNT", cut["where"], f'the sums of the carry are not those of the entries up to {e["k"]}')
        before = e


# --- the log ---

trust = {"logs": None, "witnesses": {}, "groups": {}, "quorum": "none"}


def key_id(name, raw):
    return sha256(name.encode() + b"\n" + raw)[:4]


def parse_verifier(vkey):
    m = re.fullmatch(r"([^+\s]+)\+([0-9a-f]{8})\+(\S+)", vkey)
    raw = std(m[3])
    if key_id(m[1], raw).hex() != m[2]:
        raise ValueError("the id of the key is wrong")
    return {"name": m[1], "id": bytes.fromhex(m[2]), "type": raw[0], "raw": raw[1:]}


def read_trust(file):
    def taken(name):
        return name in trust["witnesses"] or name in trust["groups"]
    quorum = None
    for line in open(file, encoding="utf-8").read().split("\n"):
        word, *rest = [w for w in re.split(r"[ \t]+", line) if w] or ["#"]
        if word.startswith("#"):
            continue
        if word == "log" and rest:
            trust["logs"] = (trust["logs"] or []) + [parse_verifier(rest[0])]
        elif word == "witness" and len(rest) > 1 and not taken(rest[0]):
            trust["witnesses"][rest[0]] = parse_verifier(rest[1])
        elif word == "group" and len(rest) > 2 and not taken(rest[0]) and all(map(taken, rest[2:])):
            members = rest[2:]
            k = {"any": 1, "all": len(members)}.get(rest[1]) or int(rest[1])
            if not 1 <= k <= len(members) or len(set(members)) < len(members):
                raise ValueError("a group of the policy is wrong: " + line)
            trust["groups"][rest[0]] = (k, members)
        elif word == "quorum" and quorum is None and rest and (rest[0] == "none" or taken(rest[0])):
            quorum = rest[0]
        else:
            raise ValueError("the policy has an invalid line: " + line)
    if quorum is None:
        raise ValueError("the policy has no quorum line")
    trust["quorum"] = quorum


opened = {}


def open_checkpoint(note):
    """Parses a checkpoint and verifies the signature of the log. It remembers texts that it has verified."""
    if note in opened:
        return opened[note]
    body, found, signatures = (note if isinstance(note, str) and len(note) <= 64 << 10 else "").partition("\n\n")
    lines = body.split("\n")
    if not found or len(lines) < 3 or not re.fullmatch(r"0|[1-9]\d{0,15}", lines[1], re.ASCII):
        raise Bad("LOG", "the text is not a checkpoint")
    body = (body + "\n").encode()
    c = {"origin": lines[0], "size": int(lines[1]), "root": std(lines[2], 32), "time": 0, "body": body, "signatures": []}
    for line in lines[3:]:
        if re.fullmatch(r"time [1-9]\d{0,11}", line, re.ASCII):
            c["time"] = int(line[5:])
    for line in signatures.split("\n"):
        m = re.fullmatch(r"— (\S+) (\S+)", line)
        if m:
            raw = std(m[2])
            c["signatures"].append((m[1], raw[:4], raw[4:]))
    logs = trust["logs"]
    if logs is None:
        logs = [{"name": c["origin"], "type": 1, "raw": k["raw"]} for (purpose, _), k in keys.items() if purpose == "log" and k["alg"] == "EdDSA"]
    if not any(log["type"] == 1 and log["name"] == name == c["origin"] and id_ == key_id(name, b"\x01" + log["raw"]) and
               ed25519(log["raw"], body, raw) for log in logs for name, id_, raw in c["signatures"]):
        raise Bad("LOG", "no known key of the log signed the checkpoint")
    opened[note] = c
    counts["checkpoints"] += 1
    of = checkpoints.setdefault(c["origin"], {})
    other = of.setdefault(c["size"], c | {"all": []})
    if other["root"] != c["root"]:
        problem("FORK", c["origin"], f'two checkpoints of size {c["size"]} have different roots')
    other["all"].append(c)
    other["time"] = max(other["time"], c["time"])
    return c


def cosigned(c, name):
    if name in trust["groups"]:
        k, members = trust["groups"][name]
        return sum(cosigned(c, m) for m in members) >= k
    w = trust["witnesses"][name]
    return w["type"] == 4 and any(
        n == w["name"] and id_ == w["id"] and len(raw) == 72 and
        ed25519(w["raw"], b"cosignature/v1\ntime %d\n" % int.from_bytes(raw[:8], "big") + c["body"], raw[8:]) for n, id_, raw in c["signatures"])


def included(index, size, leaf, path, root):
    """RFC 9162 section 2.1.3.2."""
    if index >= size:
        return False
    fn, sn, r = index, size - 1, leaf
    for p in path:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            r = node(p, r)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = node(r, p)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and r == root


def consistent(a, b, path):
    """RFC 9162 section 2.1.4.2."""
    if a["size"] == 0:
        return True
    if a["size"] == b["size"]:
        return not path and a["root"] == b["root"]
    fn, sn = a["size"] - 1, b["size"] - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    if fn == 0:
        path = [a["root"], *path]
    if not path:
        return False
    fr = sr = path[0]
    for c in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = node(c, fr), node(c, sr)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, c)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and fr == a["root"] and sr == b["root"]


def log_proof_line(line, at):
    rows, found, note = line["text"].partition("\n\n")
    header, *rows = rows.split("\n")
    if not found or header != "c2sp.org/tlog-proof@v1":
        raise Bad("LOG", "the text is not a proof of inclusion")
    if rows and rows[0].startswith("extra "):
        rows.pop(0)
    m = re.fullmatch(r"index (0|[1-9]\d{0,15})", rows[0], re.ASCII)
    path = [std(r, 32) for r in rows[1:]]
    if not m or len(path) > 63:
        raise Bad("LOG", "the text is not a proof of inclusion")
    p = (line["entry"], int(m[1]), path, note, at)
    if note and p[0] in leaves:
        in_log(p)
    else:
        inclusion.append(p)


def epoch_of(origin):
    m = re.search(r"/uim-ledger/(0|[1-9]\d{0,8})$", origin, re.ASCII)
    return int(m[1]) if m else None


def origin_of(iss, epoch):
    return re.sub("[^!-~]|[+%]", lambda m: "".join(f"%{b:02X}" for b in m[0].encode()), iss) + f"/uim-ledger/{epoch}"


def finish_inclusion(leaf, index, path, note, at):
    of = leaves.get(leaf)
    if of is None:
        raise Bad("LOG", "the bundle does not have the entry of the proof")
    origin = origin_of(issuers[of["epoch"]], of["epoch"])
    c = open_checkpoint(note) if note else next(reversed(list(checkpoints.get(origin, {}).values())), None)
    if not c or c["origin"] != origin:
        raise Bad("LOG", "the checkpoint is not from the log of the epoch")
    if not included(index, c["size"], url(leaf, 32), path, c["root"]):
        raise Bad("LOG", "the proof does not lead to the root of the checkpoint")
    counts["logged"] += leaf not in proven
    proven.add(leaf)


def in_log(p):
    check(leaves[p[0]]["where"] if p[0] in leaves else p[4], "LOG", lambda: finish_inclusion(*p))


def finish_consistency(line, shown):
    path = [(std if len(h) == 44 else url)(h, 32) for h in line["hashes"]]
    old, new = line["old"], line["new"]
    if not whole(old) or not whole(new):
        raise Bad("LOG", "want two sizes")
    both = [(origin, of) for origin, of in checkpoints.items() if old in of and new in of and old <= new]
    good = [origin for origin, of in both if consistent(of[old], of[new], path)]
    if both and not good:
        raise Bad("FORK", f"the log of size {new} does not contain the one of size {old}")
    shown.update((origin, old, new) for origin in good)


def finish_log():
    for p in inclusion:
        in_log(p)
    shown, newest = set(), {}
    for line, at in consistency:
        check(at, "LOG", lambda line=line: finish_consistency(line, shown))
    for origin, of in checkpoints.items():
        sizes = sorted(of)
        for i, size in enumerate(sizes[:-1]):
            if size > 0 and not any((origin, size, n) in shown for n in sizes[i + 1:]) and not any(p["name"] == "FORK" for p in problems):
                problem("LOG", origin, f"no proof shows that the log contains its state of size {size}")
        if trust["quorum"] != "none" and not any(cosigned(c, trust["quorum"]) for c in of[sizes[-1]]["all"]):
            problem("LOG", origin, "too few witnesses cosigned the newest checkpoint")
        epoch = epoch_of(origin)
        if epoch is not None:
            newest[epoch] = max(newest.get(epoch, 0), of[sizes[-1]]["time"])
    for r in restored:
        if not r["last"]:
            continue
        if r["last"]["epoch"] >= r["epoch"]:
            problem("EPOCH", r["at"], "the epoch that the entry names as the previous one is not an earlier one")
        of = next((of for origin, of in checkpoints.items() if epoch_of(origin) == r["last"]["epoch"]), None)
        if of and max(of) > r["last"]["size"]:
            problem("EPOCH", r["at"], "the log had grown beyond the state that was restored")
        if of and r["last"]["size"] in of and b64url(of[r["last"]["size"]]["root"]) != r["last"]["root"]:
            problem("FORK", r["at"], "the root in the entry is not that of the checkpoint of that size")
    for leaf, of in leaves.items():
        latest = max((t for epoch, t in newest.items() if epoch >= of["epoch"]), default=0)
        if leaf in proven:
            continue
        if not latest:
            skip("entries for whose log the bundle has no checkpoint")
        elif of["at"] < latest - MMD:
            problem("RECEIPT_NOT_LOGGED", of["where"], "the bundle does not show that the log has the entry")
        else:
            skip("entries that need not be in the log yet")
    for epoch, iss in issuers.items():
        if iss != head["issuer"] and epoch >= max([0, *newest, *issuers]):
            problem("AGREEMENT", iss, "the entries belong to another service")


# --- statements and invoices ---

def total_line(line, at, kind):
    counts["statements" if kind == "STATEMENT" else "invoices"] += 1
    j, typ = parse_jws(line["jws"], 16 << 20), "uim-statement+jwt" if kind == "STATEMENT" else "uim-invoice+jwt"
    if type_of(j) != typ:
        raise Bad(kind, "want the type " + typ)
    key = keys.get(("receipt", j["header"].get("kid")))
    if key is None:
        raise Bad("KEY", "the key is unknown, or does not sign receipts")
    if not signed(j, key):
        problem("SIGNATURE", at, "the signature does not verify")
    totals.append((kind, at, strict_object(j["payload"])))


def finish_total(kind, at, p):
    def say(detail):
        problem(kind, at, detail)
    currency = p.get("currency") or (p["totals"][0]["currency"] if p.get("totals") else None)
    if p.get("agent_id", p.get("agent")) != head["agent"] or p.get("issuer", p.get("iss", head["issuer"])) != head["issuer"]:
        return say("it belongs to another service or agent")
    a = accounts.get(currency) if isinstance(currency, str) else None
    first, last, range_ = p.get("from_k"), p.get("to_k"), []
    c = p.get("checkpoint")
    if isinstance(c, str):
        c = open_checkpoint(c)
    had = checkpoints.get(c.get("origin"), {}).get(c.get("size")) if isinstance(c, dict) else None
    if had and c["root"] not in (had["root"], b64url(had["root"]), base64.b64encode(had["root"]).decode()):
        problem("FORK", at, "its root is not that of the checkpoint of that size")
    if first is None and last is None:
        if p.get("opening_head") != p.get("closing_head"):
            say("it has no entries, but two different heads")
    else:
        if not whole(first) or not whole(last) or first > last or last - first > MAX_LINES:
            return say("want from_k and to_k")
        range_ = [e for e in a["list"] if first <= e["k"] <= last] if a else []
        if len(range_) != last - first + 1:
            return say(f"entries between {first} and {last} are missing")
        opening, closing = p.get("opening_head"), p.get("closing_head")
        if opening and first > 0 and (opening["k"] != first - 1 or opening["hash"] != range_[0]["prev"]):
            say("the opening head is not that of the entry before")
        if closing and (closing["k"] != last or closing["hash"] != range_[-1]["leaf"]):
            say("the closing head is not that of the last entry")
    start, end = time(p["from"]) if "from" in p else 0, time(p["to"])
    outside = next((e for e in (a["list"] if a else []) if (first is None or not first <= e["k"] <= last) and
                    start + 60 <= e["at"] < end - 60), None)
    if outside:
        say(f'entry {outside["k"]} is in the period, but not between from_k and to_k')
    if kind == "STATEMENT":
        statement(p, range_, say)
    else:
        invoice(p, range_, currency, say)


def statement(p, range_, say):
    now, moved, rows = position(p["opening"]), dict.fromkeys(SUMS, 0), {}
    for q in (p["opening"], p["closing"]):
        n = position(q)
        if amount(q["balance"], True) != n["topped_up"] - n["held"] - n["captured"]:
            say("a balance is not the amount topped up minus held and captured")
    for e in range_:
        if e["kind"] == "carry" and e["k"] == 0:
            return skip("sums of statements that include the beginning of a chain")
        move(moved, e)
        if e["kind"] == "charge":
            calls, nano = rows.get((e["intent"], e["rule"], e["to"]), (0, 0))
            rows[e["intent"], e["rule"], e["to"]] = (calls + 1, nano + e["nano"])
    if {n: now[n] + moved[n] for n in SUMS} != position(p["closing"]):
        say("the opening position and the entries do not give the closing position")
    up, back = (sum(abs(e["nano"]) for e in range_ if e["kind"] == kind) for kind in ("top-up", "reversal"))
    if amount(p["topped_up"]) != up or amount(p["reversed"]) != back:
        say("the top-ups are not those of the entries")
    stated = 0
    for line in p["lines"]:
        for s in STATES:
            row = rows.get((line["intent"], line["rule"], s), (0, 0))
            stated += row[0] > 0
            if (line[s]["calls"], amount(line[s]["amount"])) != row:
                say(f'the line of "{s}" charges is not the sum of the entries')
    if stated != len(rows):
        say("a line is missing")


def invoice(p, range_, currency, say):
    rows, agreed, sum_ = {}, {}, 0
    captured = [e for e in range_ if e["kind"] == "charge" and e["to"] == "captured"]
    for e in captured:
        rows[e["intent"], e["rule"], e["nano"]] = rows.get((e["intent"], e["rule"], e["nano"]), 0) + 1
        agreed[e["agr"], e["pol"]] = agreed.get((e["agr"], e["pol"]), 0) + 1
    for r in p["rows"]:
        if r["currency"] != currency:
            continue
        sum_ += amount(r["amount"])
        if r.get("others"):
            continue
        if amount(r["unit_price"]) * r["calls"] != amount(r["amount"]):
            say("a row is not the price times the calls")
        if rows.get((r["intent"], r["rule"], amount(r["unit_price"]))) != r["calls"]:
            say("a row is not the sum of the entries")
    total = next((t for t in p["totals"] if t["currency"] == currency), {"calls": 0, "amount": "0.00"})
    if total["calls"] != len(captured) or not amount(total["amount"]) == sum_ == sum(e["nano"] for e in captured):
        say("the total is not the sum of the entries")
    for e in p["evidence"]:
        if len(p["totals"]) < 2 and agreed.get((e["agreement_id"], e["policy_digest"]), e["calls"]) != e["calls"]:
            say("the calls of an agreement are not those of the entries")
        a = agreements.get(e["agreement_id"])
        if a and a["signature"] != e["signature_digest"]:
            say("the signature of an agreement has another digest")


# --- decided again ---

def decide_again():
    if shutil.which("uimgate") is None:
        return skip("decisions, because uimgate is not in the PATH", len(decisions))
    for i in range(0, len(decisions), 1000):
        batch = []
        for id_, asked in decisions[i:i + 1000]:
            t, context = executions[id_].get("terms"), (loads(asked, False)["request"].get("context") or {}).values()
            if not t or t["pol"] not in policies or any(isinstance(v, str) and re.fullmatch("[0-9a-f]{64}", v) for v in context):
                skip("decisions with hidden facts or without a policy")
                continue
            for pol in filter(None, (t["pol"], executions[id_].get("agreed"))):
                batch.append((id_, pol, '{"policy":' + write(policies[pol]) + "," + asked[1:] + "\n"))
        out = subprocess.run(["uimgate", "policy", "decide", "--batch", "-"], input="".join(line for *_, line in batch).encode(),
                             capture_output=True, check=False).stdout.decode().strip().split("\n")
        for n, (id_, pol, _) in enumerate(batch):
            t, where = executions[id_]["terms"], executions[id_]["where"]
            d = check(where, "DECISION", lambda n=n: loads(out[n], False))
            if d is None:
                continue
            name, of = ("DECISION", "the policy") if pol == t["pol"] else ("POLICY", "the agreed policy")
            if "error" in d:
                skip("decisions under policies that uimgate does not load")
            elif d["decision"] != "permit":
                problem(name, where, of + " does not permit the call")
            elif (d["rule"] == t["rule"] or pol != t["pol"]) and sum(price(c["amount"]) for c in d["charges"]) != amount(t["amount"], True):
                problem(name, where, of + " charges another amount")


# --- reading ---

TYPES = {
    "keys": ("KEY", keys_line), "policy": ("POLICY", policy_line), "agreement": ("AGREEMENT", agreement_line),
    "entry": ("SIGNATURE", entry_line), "proof": ("PROOF", proof_line), "decision": ("DECISION", decision_line),
    "tlog-proof": ("LOG", log_proof_line), "checkpoint": ("LOG", lambda line, _: open_checkpoint(line.get("text"))),
    "consistency": ("LOG", lambda line, at: consistency.append((line, at))),
    "statement": ("STATEMENT", lambda line, at: total_line(line, at, "STATEMENT")),
    "invoice": ("INVOICE", lambda line, at: total_line(line, at, "INVOICE")),
}


def read_line(data, at):
    global head
    try:
        line = loads(data, False)
    except MALFORMED:
        raise Bad("FILE", "the line is not JSON") from None
    if not isinstance(line, dict):
        raise Bad("FILE", "the line is not an object")
    if head is None:
        if line.get("type") != "uim-evidence" or line.get("version") != "1" or not text(line.get("issuer")) or not text(line.get("agent")):
            raise Bad("FILE", "the file is not a bundle of version 1")
        head = line
        return
    kind = line.get("type")
    if len(data) > MAX_LINE and kind not in ("policy", "agreement"):
        raise Bad("FILE", "the line is longer than 1 MiB")
    if not isinstance(kind, str) or kind not in TYPES:
        skip("lines of unknown types")
        return
    name, read = TYPES[kind]
    call = kind in ("proof", "decision")
    if call and not text(line.get("execution")):
        raise Bad(name, "want the id of an execution")
    check(line["execution"] if call else at, name, lambda: read(line, at))


def read_bundle(file):
    total = 0
    with (gzip.open(file) if file.endswith(".gz") else open(file, "rb")) as stream:
        try:
            while data := stream.readline(MAX_DOCUMENT + 2):
                total += len(data)
                if total > MAX_BYTES:
                    raise Bad("FILE", "the bundle is larger than 4 GiB")
                data = data.removesuffix(b"\n")
                if len(data) > MAX_DOCUMENT:
                    raise Bad("FILE", "a line is longer than 8 MiB")
                if counts["lines"] == MAX_LINES:
                    raise Bad("FILE", "the bundle has more than 1,000,000 lines")
                counts["lines"] += 1
                at = f'line {counts["lines"]}'
                check(at, "FILE", lambda: read_line(data, at))
                if head is None:
                    return
            if head is None:
                problem("FILE", "", "the bundle is empty")
        except Bad as e:
            problem("FILE", f'line {counts["lines"] + 1}', e.detail)
        except (EOFError, gzip.BadGzipFile, zlib.error) as e:
            problem("FILE", f'line {counts["lines"] + 1}', f"the file is damaged or cut off: {e}")


args = sys.argv[1:]
use_opa = "--opa" in args
policy = args[args.index("--policy") + 1:][:1] if "--policy" in args else None
files = [a for i, a in enumerate(args) if a not in ("--opa", "--policy") and (i == 0 or args[i - 1] != "--policy")]
try:
    if len(files) != 1 or files[0].startswith("-") or policy == []:
        raise ValueError("usage: verify.py FILE [--policy tlog-policy] [--opa]")
    if policy:
        read_trust(policy[0])
    read_bundle(files[0])
except (OSError, ValueError, TypeError, binascii.Error) as e:
    print(e, file=sys.stderr)
    sys.exit(2)
if head:
    for currency, account in accounts.items():
        check(currency, "SIGNATURE", lambda account=account: finish_account(account))
    for execution, x in executions.items():
        check(str(execution), "PROOF", lambda execution=execution, x=x: finish_execution(execution, x))
    finish_log()
    for t in totals:
        check(t[1], t[0], lambda t=t: finish_total(*t))
    if use_opa:
        decide_again()
    elif counts["decisions"]:
        skip("decisions, which --opa decides again", counts["decisions"])
problems.sort(key=lambda p: (p["name"], p["where"], p["detail"]))
used = sorted(({"purpose": purpose, "kid": kid} for purpose, kid in keys), key=lambda k: k["purpose"] + k["kid"])
print(json.dumps({"ok": not problems, "problems": problems, "more": more, **counts, "not_checked": not_checked, "keys": used}, indent=1,
                 ensure_ascii=False))
sys.exit(1 if problems else 0)
