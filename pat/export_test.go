package pat_test

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/pat"
)

// exports creates agreements of every kind in a real store, and exports them.
func exports(tb testing.TB) map[string][]byte {
	tb.Helper()
	w := newWorld(tb)
	out := map[string][]byte{}
	stored := func(name string, issued pat.Issuance) {
		tb.Helper()
		a, err := w.store.Agreement(tb.Context(), service, issued.AgreementID)
		if err != nil {
			tb.Fatal(err)
		}
		p, err := w.store.Policy(tb.Context(), service, a.PolicyDigest)
		if err != nil {
			tb.Fatal(err)
		}
		if out[name], err = pat.Export(a, p, forms()); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
	}
	keep := func(name string, r pat.IssueRequest) {
		tb.Helper()
		stored(name, w.issue(tb, r))
	}
	keep("fresh", w.fresh(tb, "fresh", newEd(), func(c *pat.AgreementClaims) { c.Scope = []string{search} }))
	keep("jws", pat.IssueRequest{
		AgentID: "jws", SignedPolicy: jws(tb, map[string]any{"alg": "EdDSA"}, policyV1, edSign(edKey())),
		PublicKey: string(keyOf(tb, edKey()).JWK()),
	})
	python := []byte(`{"uid": "https://shop.example/policy/1", "permission": [{"action": "execute", "price": 1.5, "note": "\u00e4"}]}`)
	for name, signer := range map[string]crypto.Signer{"rsa": rsaKey(), "ec": ecKey(), "ed": newEd()} {
		for scheme, signature := range signatures(tb, signer, python) {
			keep(scheme, pat.IssueRequest{
				AgentID: name, SignedPolicy: base64.StdEncoding.EncodeToString(signature),
				PublicKey: string(keyOf(tb, signer).JWK()),
			})
		}
	}
	scoped := func(e *draft) { e.message["scope"] = []string{search} }
	issued, err := w.issueEnvelope(tb, w.envelope(tb, seeded(tb, "alice recovery password"), scoped))
	if err != nil {
		tb.Fatal(err)
	}
	stored("envelope", issued)
	served := newEd()
	keep("served", w.static(tb, "served", served))
	return out
}

func TestExportVerifiesOffline(t *testing.T) {
	for name, bundle := range exports(t) {
		e, err := pat.VerifyExport(bundle, forms())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := pat.Export(e.Agreement, e.Policy, forms())
		if err != nil || !bytes.Equal(again, bundle) {
			t.Errorf("%s: encoding it again changes it: %v", name, err)
		}
		if string(e.Policy.Bytes) != string(policyV1) || e.Agreement.Issuer != issuer || e.Agreement.Service != service {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestTamperedExportsAreRejected(t *testing.T) {
	b64 := base64.RawURLEncoding.EncodeToString
	for name, bundle := range exports(t) {
		for what, spoil := range map[string]func(agreement, policy map[string]any){
			"another key":    func(a, _ map[string]any) { a["agent_public_key"] = b64(keyOf(t, newEd()).SPKI()) },
			"another jkt":    func(a, _ map[string]any) { a["jkt"] = keyOf(t, newEd()).Thumbprint() },
			"another policy": func(_, p map[string]any) { p["document"] = b64(policyV2) },
			"another policy, with its digest": func(a, p map[string]any) {
				p["document"] = b64(policyV2)
				p["digest"], a["policy_digest"] = must(pat.PolicyDigest(policyV2)), must(pat.PolicyDigest(policyV2))
			},
			"another digest":    func(a, _ map[string]any) { a["policy_digest"] = "sha-256:x" },
			"another uid":       func(a, _ map[string]any) { a["policy_uid"] = "urn:x" },
			"changed signature": func(a, _ map[string]any) { a["signature"] = flip(t, a["signature"]) },
			"no signature":      func(a, _ map[string]any) { a["signature"] = "" },
			"assurance": func(a, _ map[string]any) {
				a["assurance"] = map[any]any{"fresh": "static", "static": "fresh"}[a["assurance"]]
			},
			"form":                   func(a, _ map[string]any) { a["form"] = "detached:rfc8785:rsa-pkcs1v14" },
			"no form":                func(a, _ map[string]any) { a["form"] = "" },
			"member signed added":    func(a, _ map[string]any) { a["signed"] = b64(policyV2) },
			"nonce added":            func(a, _ map[string]any) { a["nonce"] = "0123456789abcdef" },
			"scope added":            func(a, _ map[string]any) { a["scope"] = []string{buy + ":execute"} },
			"missing member":         func(a, _ map[string]any) { delete(a, "issuer") },
			"member of a wrong type": func(a, _ map[string]any) { a["created_at"] = 1 },
		} {
			var tree map[string]any
			if err := json.Unmarshal(bundle, &tree); err != nil {
				t.Fatal(err)
			}
			spoil(tree["agreement"].(map[string]any), tree["policy"].(map[string]any))
			if e, err := pat.VerifyExport(must(json.Marshal(tree)), forms()); !errors.Is(err, pat.ErrBadExport) || e.Agreement.ID != "" {
				t.Errorf("%s with %s: %v", name, what, err)
			}
		}
	}
	fresh := exports(t)["fresh"]
	for what, spoil := range map[string]func(a map[string]any){
		"another agent":   func(a map[string]any) { a["agent_id"] = "other" },
		"another service": func(a map[string]any) { a["issuer"] = "bank.example" },
		"another time":    func(a map[string]any) { a["created_at"] = "2026-11-21T12:06:00Z" },
	} {
		var tree map[string]any
		if err := json.Unmarshal(fresh, &tree); err != nil {
			t.Fatal(err)
		}
		spoil(tree["agreement"].(map[string]any))
		if _, err := pat.VerifyExport(must(json.Marshal(tree)), forms()); !errors.Is(err, pat.ErrBadExport) {
			t.Errorf("fresh with %s: %v, want %v", what, err, pat.ErrBadExport)
		}
	}
	for _, text := range []string{"", "{}", "[]", `{"type":"x"}`, strings.Repeat("[", 1000), strings.Repeat(" ", pat.MaxExport+1)} {
		if _, err := pat.VerifyExport([]byte(text), forms()); !errors.Is(err, pat.ErrBadExport) {
			t.Errorf("%.20q: %v, want %v", text, err, pat.ErrBadExport)
		}
	}
}

// flip changes a bit near the end.
func flip(tb testing.TB, v any) string {
	tb.Helper()
	b := must(base64url(v.(string)))
	b[len(b)-4] ^= 1
	return base64.RawURLEncoding.EncodeToString(b)
}

func FuzzVerifyExport(f *testing.F) {
	for _, b := range exports(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := pat.VerifyExport(raw, forms())
		if err != nil {
			if !errors.Is(err, pat.ErrBadExport) || e.Agreement.ID != "" {
				t.Fatalf("got %+v, %v; want %v and Agreement.ID empty", e, err, pat.ErrBadExport)
			}
			return
		}
		if _, err := pat.Export(e.Agreement, e.Policy, forms()); err != nil {
			t.Fatal(err)
		}
	})
}
