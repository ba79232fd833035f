"""Reproduces the vectors of the protocol: docs/protocols/vectors.md."""

import functools
import json
import os
import tempfile
import unittest
from pathlib import Path

import httpx

from uimgate import (
    Amount,
    Budget,
    BudgetError,
    FileError,
    JsonError,
    Key,
    OptionsError,
    PendingError,
    Policy,
    PolicyChangedError,
    ResponseError,
    UimError,
    verify_receipt,
)
from uimgate._answers import Answer, parse_charge, parse_rate_limit, read_refusal, read_result
from uimgate._discovery import parse_target
from uimgate._json import canonical, decode, decode_object
from uimgate._keys import b64, digest_of
from uimgate._money import Amount as Money
from uimgate._receipts import KeySet, Known, check_receipt, sha256
from uimgate._ruleprice import states_price
from uimgate._session import read_token

V = json.loads((Path(__file__).parents[3] / "docs/protocols/vectors.json").read_text("utf-8"))


@functools.lru_cache(maxsize=None)
def key(name):
    [found] = [k for k in V["keys"]["accepted"] if k["name"] == name]
    return Key._from_pem(found["pem"].encode(), name)


def answer(v):
    return Answer(v["status"], httpx.Headers(v.get("headers", {})), v["body"].encode(), "https://shop.example/")


def charge(c):
    return c and {"amount": c.amount.decimal, "currency": c.amount.currency, "id": c.id, "state": c.state}


def limit(r):
    return r and {"limit": r.limit, "remaining": r.remaining, "reset": r.reset}


def present(members):
    return {name: value for name, value in members.items() if value not in ("", None, [], (), False)}


def refusal(r):
    return present(
        {
            "status": r.status,
            "code": r.code,
            "reason": r.reason,
            "uim_code": r.uim_code,
            "message": r.message,
            "suggestion": r.suggestion,
            "upstream": r.upstream,
            "outcome": r.outcome,
            "offered": r.offered,
            "retry_after": r.retry_after,
            "changes": list(r.changes),
            "violations": [
                present(
                    {
                        "pointer": v.pointer,
                        "keyword": v.keyword,
                        "reason": v.reason,
                        "message": v.message,
                        "nearest": v.nearest,
                        "limit": v.limit,
                        "known": list(v.known),
                    }
                )
                for v in r.violations
            ],
            "charge": charge(r.charge),
            "rate_limit": limit(r.rate_limit),
            "request_id": r.request_id,
            "replayed": r.replayed,
            "receipts": list(r.receipts),
        }
    )


class Vectors(unittest.TestCase):
    maxDiff = None

    def each(self, vectors):
        self.assertTrue(vectors)
        for number, vector in enumerate(vectors):
            with self.subTest(number=number, name=vector.get("name", "") if isinstance(vector, dict) else vector):
                yield vector

    def test_keys(self):
        for v in self.each(V["keys"]["accepted"]):
            k = key(v["name"])
            self.assertEqual(
                (k.algorithm, canonical(k.jwk).decode(), k.thumbprint, k.pem), (v["alg"], v["jwk"], v["thumbprint"], v["public_pem"])
            )
            self.assertEqual(v["agent_id"], "agent-" + k.thumbprint[:12])
        for v in self.each(V["keys"]["refused"]):
            with tempfile.TemporaryDirectory() as directory:
                path = Path(directory) / "key.pem"
                path.write_text(v["pem"])
                path.chmod(0o600)
                with self.assertRaises(FileError) as caught:
                    Key.from_file(path)
                self.assertNotIn(v["pem"].splitlines()[1][:20], str(caught.exception))

    def test_canonical(self):
        for v in self.each(V["canonical"]["exact"]):
            self.assertEqual(canonical(decode(v["text"], exact=True)).decode(), v["canonical"])
            self.assertEqual(canonical(decode(v["text"])).decode(), v["canonical"])
        for v in self.each(V["canonical"]["inexact"]):
            with self.assertRaises(JsonError) as caught:
                canonical(decode(v["text"], exact=True))
            self.assertEqual(caught.exception.pointer, v["pointer"])
        for text in self.each(V["canonical"]["refused"]):
            with self.assertRaises(JsonError):
                decode(text)

    def test_digests(self):
        for v in self.each(V["policies"]):
            policy = Policy.read(v["text"].encode())
            self.assertEqual((policy.uid, policy.digest), (v["uid"], v["digest"]))
        for v in self.each(V["calls"]):
            body = canonical({"intent_uid": v["intent_uid"], "parameters": decode(v["parameters"], exact=True)})
            self.assertEqual(body.decode(), v["canonical"])
            self.assertEqual(sha256(body), "sha-256:" + v["digest"])

    def test_signed(self):
        for name, typ in (("agreements", "uim-agreement+jwt"), ("proofs", "uim-proof+jwt"), ("renewals", "uim-proof+jwt")):
            for v in self.each(V[name]):
                k = key(v["key"])
                header = {"typ": typ} if name == "agreements" else {"typ": typ, "kid": k.thumbprint}
                jws = k.sign_jws(header, v["claims"])
                self.assertEqual(jws.rpartition(".")[0], v["input"])
                if "jws" in v:
                    self.assertEqual(jws, v["jws"])
                if name == "renewals":
                    self.assertEqual(digest_of({"renew": v["token_id"]}), v["digest"])

    def test_tokens(self):
        t = V["tokens"]
        for v in self.each(t["answers"]):
            try:
                s = read_token(answer(v), uid="", digest=t["policy_digest"], key=key(t["key"]), now=V["time"])
                a = s.agreement
                got = {"token": s.token, "token_id": s.token_id, "agreement_id": a.id, "scope": None if a.scope is None else list(a.scope)}
                got |= {n: int(at) for n, at in (("expires_at", a.expires_at), ("not_before", a.not_before)) if at is not None}
                if a.scope_omitted:
                    got["scope_omitted"] = [{"entry": o.entry, "reason": o.reason} for o in a.scope_omitted]
            except PendingError as error:
                got = {"error": "pending", "agreement_id": error.agreement_id}
            except PolicyChangedError as error:
                got = {"error": "policy_changed", "offered": error.offered}
            except UimError:
                got = {"error": "unusable"}
            self.assertEqual(got, v["want"])

    def test_results(self):
        for v in self.each(V["results"]):
            try:
                r = read_result(answer(v))
                got = present(
                    {
                        "charge": charge(r.charge),
                        "rate_limit": limit(r.rate_limit),
                        "request_id": r.request_id,
                        "replayed": r.replayed,
                        "receipts": list(r.receipts),
                        "sunset": r.sunset and {"at": r.sunset.at, "terms": r.sunset.terms},
                    }
                ) | {"output": r.output, "raw": r.raw.decode()}
            except ResponseError as error:
                got = refusal(error.refusal) | {"unusable": True}
                del got["message"]
            self.assertEqual(got, v["want"])

    def test_errors(self):
        for v in self.each(V["errors"]):
            self.assertEqual(refusal(read_refusal(answer(v))), v["want"])

    def test_headers(self):
        for v in self.each(V["charges"]):
            self.assertEqual(charge(parse_charge(v["header"])), v["want"])
        for v in self.each(V["limits"]):
            self.assertEqual(limit(parse_rate_limit(httpx.Headers(v["headers"]))), v["want"])

    def test_receipts(self):
        r = V["receipts"]
        for v in self.each(r["receipts"]):
            c = v["call"]
            known = Known(
                c["iss"],
                c["agent"],
                c["id"],
                Money.parse(c["amount"]),
                c["state"],
                c.get("jkt", ""),
                c.get("pol", ""),
                c.get("agr", ""),
                c.get("pat", ""),
                c.get("req", ""),
                sha256(r["output"].encode()),
                sha256(canonical(decode(r["output"]))),
                c.get("replayed", False),
            )
            self.assertEqual((known.answer, known.canonical), (c["ans"], c["ans_jcs"]))
            receipt, problems = check_receipt(v["receipt"], KeySet.parse(r["jwks"]), known)
            self.assertEqual(([p.name for p in problems], receipt is not None), (v["problems"], v["about_call"]))
            if receipt:
                self.assertEqual((canonical(receipt.entry).decode(), receipt.leaf), (v["entry"], v["leaf"]))
            if receipt or {"SIGNATURE", "KEY"} & set(v["problems"]):
                kept = verify_receipt(v["receipt"], r["jwks"], text=r["output"])
                self.assertEqual([p.name for p in kept.problems], [n for n in v["problems"] if n in ("SIGNATURE", "KEY", "ANSWER")])
        for v in self.each(r["introductions"]):
            keys = KeySet.parse(r["jwks"])
            self.assertEqual((keys.introduce(v["entry"]), v["kid"] in keys.keys), (v["trusted"], v["trusted"]))

    def test_prices(self):
        for v in self.each(V["prices"]):
            try:
                policy = decode_object(v["policy"], exact=True)
            except JsonError:
                self.assertFalse(v["found"])
                continue
            self.assertEqual(states_price(policy, v["rule"], Amount.parse(v["amount"])), v["states"] if v["found"] else None)

    def test_targets(self):
        for v in self.each(V["targets"]):
            if "urls" not in v:
                with self.assertRaises(OptionsError):
                    parse_target(v["target"])
                continue
            t = parse_target(v["target"])
            self.assertEqual((list(t.urls), t.domain), (v["urls"], v["domain"]))

    def test_budgets(self):
        with tempfile.TemporaryDirectory() as directory:
            path, now = Path(directory) / "spent.json", 0
            budget = Budget(*V["budgets"]["limits"], path=path, now=lambda: now)
            for v in self.each(V["budgets"]["steps"]):
                now = v["now"]
                try:
                    reservation = budget.reserve(Amount.parse(v["price"]))
                except BudgetError:
                    reservation = None
                self.assertEqual(reservation is None, v["refused"])
                if reservation and v["charged"] != "?":
                    budget.settle(reservation, Amount.parse(v["charged"]) if v["charged"] else None)
                self.assertEqual(path.read_text(), v["file"])
                self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)


assert b64(b"\xff") == "_w"

if __name__ == "__main__":
    unittest.main()
