package daemon_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// sound checks a response: it must be JSON, an error must use the error envelope and not be internal, and the response must not reveal
// the upstream.
func sound(tb testing.TB, g *gate, a answer, secrets ...string) {
	tb.Helper()
	if !json.Valid(a.body) {
		tb.Fatalf("%d: not JSON: %q", a.status, a.body)
	}
	if a.status >= 400 && (a.reason(tb) == "" || a.status == http.StatusInternalServerError) {
		tb.Fatalf("got %d %s", a.status, a.body)
	}
	for _, secret := range append(secrets, strings.TrimPrefix(g.upstream.server.URL, "http://"), g.dir, "upstream-secret-canary",
		"goroutine ") {
		if strings.Contains(string(a.body), secret) {
			tb.Fatalf("%d %s contains %q", a.status, a.body, secret)
		}
	}
}

func FuzzExecuteBody(f *testing.F) {
	g := startGate(f,
		setup{
			config: strings.Replace(testConfig, "10000/day", "1000000000/day", 1),
			policy: strings.Replace(testPolicy, "1000", "1000000000", 1),
		})
	a := g.newAgent("agent-1").agree()
	for _, seed := range []string{
		`{"intent_uid":"` + search + `","parameters":{"query":"lamp"}}`,
		`{"intent_uid":"` + search + `","parameters":{"query":"lamp","max_price":1e400,"page":-0}}`,
		`{"intent_uid":"` + search + `","parameters":{"query":"lamp","since":"2026-02-30","category":null}}`,
		`{"intent_uid":"` + details + `","parameters":{"id":"a%2fb"}}`,
		`{"intent":{"uid":"` + order + `","parameters":{"product_id":"p","quantity":1.0}},"context":[]}`,
		`{"intent_uid":"` + order + `","parameters":{"product_id":"p"},"proof":"a.b.c"}`,
		`{"intent_uid":"shop.example:*:*","parameters":null}`, `[]`, `{}`, `"\ud800"`, `{"intent_uid":{},"parameters":[]}`,
	} {
		f.Add([]byte(seed), "k", "", "application/json")
		f.Add([]byte(seed), "", "x.y.z", "application/uim+json; charset=UTF-8")
	}
	f.Fuzz(func(t *testing.T, body []byte, key, proof, kind string) {
		h := header{"Content-Type": kind, "Authorization": "Bearer " + a.token}
		for name, value := range map[string]string{"Idempotency-Key": key, "UIM-Proof": proof} {
			if value != "" {
				h[name] = value
			}
		}
		got, err := try(t.Context(), "POST", g.url+"/api/intents/execute", body, h)
		if err != nil {
			return // this header cannot be sent
		}
		sound(t, g, got, a.token)
	})
}

func FuzzIssueBody(f *testing.F) {
	g := startGate(f, setup{config: strings.Replace(testConfig, "100000/minute", "100000000/second", 1)})
	a := g.newAgent("agent-1")
	signed := a.agreement(nil)
	whole := mustJSON(f,
		map[string]any{"agent_id": a.id, "signed_policy": signed, "agent_public_key": a.publicKey(), "scope": []string{search + ":execute"}})
	for _, seed := range []string{
		string(whole), string(whole[:len(whole)-1]), strings.Replace(string(whole), a.id, "agent-2", 1),
		strings.Replace(string(whole), ":execute", ":*", 1),
		`{"agent_id":"a","signed_policy":"00","agent_public_key":{"kty":"RSA","n":"AQAB","e":"AQAB"}}`,
		`{"agent_id":"a","signed_policy":"00","agent_public_key":{"kty":"OKP","crv":"Ed25519","x":""}}`,
		`{"agent_id":"a","signed_policy":"AA==","agent_public_key":"-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----"}`,
		`{"agent_id":"a","signed_policy":"a.b.c","agent_public_key":[],"scope":[1]}`, `{"agent_id":1}`, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := try(t.Context(), "POST", g.url+"/api/pat/issue", body, header{"Content-Type": "application/json"})
		if err != nil {
			t.Fatal(err)
		}
		if got.status != http.StatusTooManyRequests {
			sound(t, g, got)
		}
	})
}

// A response of an upstream reaches the agent only as JSON.
func FuzzUpstreamAnswer(f *testing.F) {
	var status int
	var body []byte
	var kind string
	g := startGate(f, setup{
		config: strings.NewReplacer("10000/day", "1000000000/day", "failures: 1000", "failures: 10000").Replace(testConfig),
		upstream: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write(body)
		},
	})
	a := g.newAgent("agent-1").agree()
	for _, seed := range []string{
		`{"id":"p1","name":7}`, `{"id":null}`, `[]`, `"x"`, ``, `{"id":"p1","id":"p2"}`,
		`{"message":"upstream-secret-canary"}`, "\xef\xbb\xbf{\"id\":1e999}",
	} {
		f.Add(200, []byte(seed), "application/json")
		f.Add(422, []byte(seed), "text/html")
	}
	f.Fuzz(func(t *testing.T, s int, b []byte, k string) {
		if s < 200 || s > 999 || s == 204 || s == 304 {
			return
		}
		status, body, kind = s, b, k
		got, err := try(t.Context(), "POST", g.url+"/api/intents/execute", []byte(`{"intent_uid":"`+details+`","parameters":{"id":"p1"}}`),
			header{"Content-Type": "application/json", "Authorization": "Bearer " + a.token})
		if err != nil {
			t.Fatal(err)
		}
		sound(t, g, got, a.token)
	})
}
