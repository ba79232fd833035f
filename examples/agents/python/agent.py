#!/usr/bin/env python3
"""An agent for a service behind uimgate, written from docs/protocols/uim.md alone.

    pip install cryptography
    python3 agent.py http://127.0.0.1:PORT

It discovers the service, agrees to its policy, calls a free intent and a paid one, prints an error, and revokes its
token. It prints a line for each step. The exit code is 0 if each step had the result that docs/protocols/uim.md
describes, and 1 otherwise.
"""

import base64
import hashlib
import json
import re
import secrets
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from decimal import Decimal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

# Values for the example shop: the parameters, by name, and the maximum price of a call.
VALUES = {"query": "lamp", "product_id": "desk-lamp", "quantity": 1}
MAX_PRICE = {"EUR": Decimal("0.10")}


class Failed(Exception):
    """A step had an unexpected result."""


def check(condition, message):
    if not condition:
        raise Failed(message)


# --- Encodings ---

def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def canonical(value):
    """Returns the canonical JSON of value (RFC 8785), as bytes."""
    def prepare(v):
        if isinstance(v, dict):  # RFC 8785 sorts by UTF-16 code units, Python by code points
            return {k: prepare(v[k]) for k in sorted(v, key=lambda k: k.encode("utf-16-be"))}
        if isinstance(v, list):
            return [prepare(x) for x in v]
        if isinstance(v, float) and v.is_integer():
            v = int(v)  # 2.0 becomes 2
        if isinstance(v, (int, float)) and v and not 1e-4 <= abs(v) < 2**53:
            raise ValueError(f"Python may write {v} differently from JavaScript: send it as a string")
        return v
    return json.dumps(prepare(value), separators=(",", ":"), ensure_ascii=False).encode()


def digest(value):
    return b64(hashlib.sha256(canonical(value)).digest())


def sign(key, header, payload):
    """Returns a compact JWS, signed with an Ed25519 key."""
    text = b64(canonical(header)) + "." + b64(canonical(payload))
    return text + "." + b64(key.sign(text.encode()))


def jti_of(token):
    """Returns the jti of a token. The signature is not verified, because the service itself sent the token."""
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))["jti"]


# --- HTTP ---

class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None  # a redirect would carry the token to another place


OPENER = urllib.request.build_opener(NoRedirect)


class Answer:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        try:
            self.body = json.loads(response.read())
        except ValueError:
            self.body = {}
        self.error = self.body.get("error", {})
        self.details = self.error.get("details", {})

    def expect(self, status, what):
        check(self.status == status, f"{what}: {self.status} instead of {status}: {self.error.get('message')} "
              f"(reason {self.details.get('reason')}, request {self.details.get('request_id')})")
        return self


def http(method, url, body=None, headers=None):
    """Sends a request, and returns the response of any status. It raises an OSError if there is no response."""
    parts = urllib.parse.urlsplit(url)
    check(parts.scheme == "https" or parts.hostname in ("127.0.0.1", "::1", "localhost"), f"{url} is not https")
    data = None if body is None else canonical(body)
    headers = (headers or {}) | ({} if body is None else {"Content-Type": "application/json"})
    try:
        return Answer(OPENER.open(urllib.request.Request(url, data, headers, method=method), timeout=30))
    except urllib.error.HTTPError as error:
        return Answer(error)


def patiently(send):
    """Sends a request, and repeats it as docs/protocols/uim.md describes. send makes a new request each time, with a new jti."""
    for last in (False, False, True):
        try:
            answer = send()
        except OSError:  # no response: the request may have taken effect
            if last:
                raise
            continue
        if last or answer.status not in (409, 429, 503) or "Retry-After" not in answer.headers:
            return answer
        time.sleep(int(answer.headers["Retry-After"]))


# --- The protocol ---

class Agent:
    def __init__(self, address):
        self.key = Ed25519PrivateKey.generate()  # an agent that runs again must store its key and its name safely
        raw = self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.public = {"crv": "Ed25519", "kty": "OKP", "x": b64(raw)}
        self.name = "python-example-" + secrets.token_hex(4)
        self.pat = None
        self.service = http("GET", address.rstrip("/") + "/agents.json").expect(200, "discovery").body

    def post(self, name, body=None, **headers):
        """Posts to a URL of agents.json, with the token if there is one."""
        if self.pat:
            headers["Authorization"] = "Bearer " + self.pat
        return http("POST", self.service[name], body, {k.replace("_", "-"): v for k, v in headers.items()})

    def signed(self, typ, payload, **header):
        """Returns an agreement or a proof for this service, which can be used once."""
        return sign(self.key, {"typ": typ, "alg": "EdDSA"} | header, payload | {
            "aud": self.service["uim-issuer"], "iat": int(time.time()), "jti": secrets.token_urlsafe(24)})

    def read_policy(self):
        answer = http("GET", self.service["uim-policy-file"]).expect(200, "policy")
        self.policy, self.policy_digest = answer.body, "sha-256:" + digest(answer.body)
        etag = answer.headers.get("ETag", "").removeprefix("W/").strip('"')
        check(etag == self.policy_digest, f"the digest of the policy is {self.policy_digest}, but its ETag is {etag}")

    def price(self, intent):
        """Returns the price of a call under the policy: (amount, currency), or None if it is free."""
        for permission in self.policy["permission"]:  # the target is the uid of an intent, or a URL that ends with it
            if permission["target"].rsplit("/", 1)[-1] == intent["intent_uid"]:
                pay = [d for d in permission.get("duty", []) if d["action"] == "pay"]
                return (Decimal(pay[0]["amount"]), pay[0]["unit"].rsplit("/", 1)[-1]) if pay else None
        raise Failed(f"the policy does not permit {intent['intent_uid']}")

    def agree(self, intents):
        """Signs an agreement that is limited to these intents, and gets a token for it."""
        answer = patiently(lambda: self.post("uim-pat-issue", {
            "agent_id": self.name, "agent_public_key": self.public,
            "signed_policy": self.signed("uim-agreement+jwt", {
                "iss": self.name, "htu": self.service["uim-pat-issue"], "scope": [i["intent_uid"] for i in intents],
                "policy": {"uid": self.policy["uid"], "digest": self.policy_digest}})}))
        check(answer.status != 202, "the operator approves each agent: keep the key, and send the same body again later")
        self.pat = answer.expect(200, "agreement").body["uim-pat"]
        check("scope_omitted" not in answer.body, f"these entries were not granted: {answer.body.get('scope_omitted')}")
        return answer.body

    def proof(self, subject):
        return self.signed("uim-proof+jwt", {"pat": jti_of(self.pat), "digest": digest(subject)}, kid=digest(self.public))

    def call(self, intent, parameters, idempotency_key=None):
        """Calls an intent. A call that changes or costs something has an idempotency key and a proof."""
        body = {"intent_uid": intent["intent_uid"], "parameters": parameters}
        return patiently(lambda: self.post("uim-api-execute", body, **({} if idempotency_key is None else {
            "Idempotency_Key": idempotency_key, "UIM_Proof": self.proof(body)})))

    def renew(self):
        subject = {"renew": jti_of(self.pat)}
        renewed = patiently(lambda: self.post("uim-pat-renew", UIM_Proof=self.proof(subject))).expect(200, "renewal").body
        self.pat = renewed["uim-pat"]
        check(jti_of(self.pat) != subject["renew"], "the renewal returned the old token")
        return renewed

    def revoke(self):
        self.post("uim-pat-revoke", {"token": self.pat}).expect(200, "revocation")


def parameters_for(intent):
    """Returns the parameters of a call from VALUES; None if a required one has no value there."""
    inputs = intent.get("input_parameters", [])
    if any(p.get("required") and p["name"] not in VALUES for p in inputs):
        return None
    return {p["name"]: VALUES[p["name"]] for p in inputs if p["name"] in VALUES}


def walk(agent):
    intents = agent.service["intents"]
    print("discovered:", agent.service["uim-issuer"], "offers", ", ".join(i["intent_uid"] for i in intents))
    agent.read_policy()
    print("policy:", agent.policy["uid"], "has the digest", agent.policy_digest, "(computed, and in the ETag)")

    # The search reports which intents are safe, so they only read. The policy has the prices.
    found = http("GET", agent.service["uim-api-discovery"] + "?view=brief&page_size=100").expect(200, "search").body["intents"]
    safe = {i["intent_uid"] for i in found if i.get("safe")}
    known = [i for i in intents if parameters_for(i) is not None]
    free = next((i for i in known if i["intent_uid"] in safe and not agent.price(i)), None)
    paid = next((i for i in known if agent.price(i)), None)
    check(free and paid, "there is no free intent that only reads, or no paid one, whose parameters are in VALUES")
    amount, currency = agent.price(paid)
    check(amount <= MAX_PRICE.get(currency, 0), f"{paid['intent_uid']} costs {amount} {currency}: too much")
    print(f"chosen: {free['intent_uid']}, which is free, and {paid['intent_uid']} for {amount} {currency}")
    agreed = agent.agree([free, paid])
    print("agreed:", agent.name, "has a token until", agreed["expires_at"])

    answer = agent.call(free, parameters_for(free)).expect(200, "free call")
    check("UIM-Charge" not in answer.headers, "a free call was charged")
    print("free call:", json.dumps(answer.body, ensure_ascii=False)[:100])
    limits = re.findall(r'"([^"]*)";r=(\d+);t=(\d+)', answer.headers["RateLimit"])
    print("limits:", "; ".join(f"{name}: {r} left, the next one in {t} s" for name, r, t in limits))

    order = "order-" + secrets.token_hex(8)  # the idempotency key: choose it before the first attempt, and store it with the task
    first = agent.call(paid, parameters_for(paid), order).expect(200, "paid call")
    charge = re.fullmatch(r"(\S+) (\S+); id=(\S+); state=(\w+)", first.headers.get("UIM-Charge", ""))
    check(charge, "the response to the paid call has no charge")
    check((Decimal(charge[1]), charge[2]) == (amount, currency) and charge[4] != "released", f"the charge is {charge[0]}")
    print(f"paid call: charged {charge[1]} {charge[2]}, state {charge[4]}, execution {charge[3]}")
    again = agent.call(paid, parameters_for(paid), order).expect(200, "repeated call")
    check(again.headers.get("Idempotency-Replayed") == "true", "the repeated call was executed again")
    check(again.body == first.body and f"id={charge[3]};" in again.headers["UIM-Charge"], "the repetition differs")
    print("repeated call: the same response and the same charge; charged once")

    wrong = {"not_" + name: value for name, value in parameters_for(paid).items()}
    refused = agent.call(paid, wrong, "order-" + secrets.token_hex(8)).expect(400, "wrong call")
    check("UIM-Charge" not in refused.headers, "a refused call was charged")
    print("wrong call:", refused.details["reason"], "|", refused.details["suggestion"], "|", refused.details["help_url"])
    print("violations:", "; ".join(f"{v['pointer']}: {v['message']}" for v in refused.details["violations"]))

    print("renewed: a new token until", agent.renew()["expires_at"])
    seen = agent.post("uim-pat-introspect").expect(200, "introspection").body
    check(seen["active"] is True, f"the renewed token is not active: {seen}")
    print("introspected: active, for", seen["scope"])
    agent.revoke()
    refused = agent.call(free, parameters_for(free)).expect(401, "call with a revoked token")
    check(refused.details["reason"] == "REVOKED_TOKEN", f"refused for {refused.details['reason']}")
    print("revoked: the next call was refused with", refused.details["reason"])


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: agent.py http://127.0.0.1:PORT")
    agent = None
    try:
        agent = Agent(sys.argv[1])
        walk(agent)
    except Exception as problem:
        try:
            if agent and agent.pat:
                agent.revoke()  # so that no valid token remains
        finally:
            sys.exit(f"failed: {problem if isinstance(problem, Failed) else repr(problem)}")


if __name__ == "__main__":
    main()
