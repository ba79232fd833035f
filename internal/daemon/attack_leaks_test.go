package daemon_test

import (
	"encoding/base64"
	"net/http"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/pat"
)

// Secrets, marked with canary values, do not reach responses, logs, metrics or files that must not contain them.
func TestSecretsDoNotLeak(t *testing.T) {
	g := startGate(t, setup{upstream: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Server", "canary-server")
		w.Header().Set("X-Debug", "canary-debug")
		if strings.Contains(r.URL.String(), "fail") {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"message":"canary-stack"}`))
			return
		}
		_, _ = w.Write([]byte(`{"id":"p1","secret":"canary-undeclared","order_id":"o","products":[]}`))
	}})
	a := g.newAgent("agent-1").agree()
	jwt := strings.Split(a.token, ".")
	signed := a.agreement(nil)
	var answers []answer
	note := func(x answer) { answers = append(answers, x) }
	for _, body := range []string{
		`{"intent_uid":"` + search + `","parameters":{"query":"canary-parameter","category":"canary-parameter"}}`,
		`{"intent_uid":"` + search + `","parameters":{"canary-parameter":"canary-parameter"}}`,
		`{"intent_uid":"` + details + `","parameters":{"id":"canary-parameter/.."}}`,
		`{"intent_uid":"` + details + `","parameters":{"id":"canary-parameter-fail"}}`,
		`{"intent_uid":"` + order + `","parameters":{"product_id":"canary-parameter"}}`,
		`{"intent_uid":"canary-parameter","parameters":{}}`, `{"intent_uid":"` + order + `","parameters":{"product_id":"canary-parameter"`,
		`{"canary-parameter":1}`, `{"intent_uid":"` + order + `","parameters":"canary-parameter"}`, "canary-parameter",
		`{"intent_uid":"` + order + `","parameters":{"product_id":"x","quantity":1e99}}`,
	} {
		for _, h := range []header{
			nil,
			{"UIM-Proof": "canary-proof.x.y"},
			{"Idempotency-Key": "canary-key"},
			{"Content-Type": "canary/type"},
			{"UIM-Request-ID": "canary request"},
			{"Authorization": "Canary canary-token"},
			{"Authorization": "Bearer canary-token"},
		} {
			note(a.executeBody([]byte(body), h))
		}
	}
	for _, token := range []string{a.token, jwt[0] + "." + jwt[1] + ".AAAA", "canary-token"} {
		for _, path := range []string{"/api/pat/renew", "/api/pat/introspect", "/api/pat/revoke"} {
			for _, body := range []string{"", `{"token":"canary-token"}`, `{"token":7,"canary-member":1}`, `{"proof":"canary-proof"}`} {
				h := header{"Authorization": "Bearer " + token}
				if body != "" {
					h["Content-Type"] = "application/json"
				}
				if path == "/api/pat/revoke" && token == a.token {
					continue
				}
				note(g.do("POST", path, []byte(body), h))
			}
		}
	}
	for _, change := range []func(*pat.AgreementClaims){
		func(c *pat.AgreementClaims) { c.Audience = "canary-audience" }, func(c *pat.AgreementClaims) { c.PolicyUID = "canary-policy" },
		func(c *pat.AgreementClaims) { c.Scope = []string{"canary.example:x:v1:execute"} },
		func(c *pat.AgreementClaims) { c.AgentID = "canary-agent" },
	} {
		note(a.issueWith(a.agreement(change)))
	}
	note(a.issueWith(signed[:len(signed)-8]))
	note(g.do("GET", "/canary-path?canary-query=1", nil, nil))
	note(g.do("GET", "/api/intents/search?page=canary-query&canary-query=x", nil, nil))
	note(g.do("GET", "/api/intents/search?query=canary-query", nil, nil))
	for _, x := range answers {
		for _, secret := range []string{
			"canary-stack", "canary-undeclared", "canary-debug", "canary-server", "canary-proof", "canary-token", "canary-key",
			strings.TrimPrefix(g.upstream.server.URL, "http://"), g.dir, "upstream-secret", "goroutine", ".go:", "sql",
		} {
			if strings.Contains(string(x.body), secret) {
				t.Errorf("%d %s contains %q", x.status, x.body, secret)
			}
			for name, values := range x.header {
				if strings.Contains(strings.Join(values, " "), secret) {
					t.Errorf("%s: %q contains %q", name, values, secret)
				}
			}
		}
	}
	metrics := string(g.adminDo("GET", "/metrics", nil).body)
	g.stop()
	for where, text := range map[string]string{"the log": g.log.String(), "audit.jsonl": g.file("data/audit.jsonl"), "metrics": metrics} {
		for _, secret := range []string{
			"canary-parameter", "canary-proof", "canary-token", "canary-key", "canary-stack", "canary-query", "canary-path", "canary-undeclared",
			"canary-member",
			"upstream-secret", adminToken, a.token, jwt[2], signed, base64.RawURLEncoding.EncodeToString(a.key.Seed()), "canary request",
			"canary/type",
		} {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s contains %q: …%s…", where, secret, text[max(0, at-300):min(len(text), at+60)])
			}
		}
	}
}

// A gateway that has stopped leaves no goroutine running.
func TestNoGoroutinesAfterStop(t *testing.T) {
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	a.execute(search, map[string]any{"query": "lamp"}, nil)
	g.write("policy.json", strings.Replace(testPolicy, `"rightOperand": 1000`, `"rightOperand": 500`, 1))
	g.adminDo("POST", "/admin/v1/reload", nil)
	g.stop()
	client.CloseIdleConnections()
	var left []string
	for range 100 {
		var stacks strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 2)
		left = nil
		for s := range strings.SplitSeq(stacks.String(), "\n\n") {
			ours := strings.Contains(s, "internal/daemon.") || strings.Contains(s, "uimgate/gateway") || strings.Contains(s, "sqlstore") ||
				strings.Contains(s, "uimgate/config") || strings.Contains(s, "uimgate/pat.")
			if ours && !strings.Contains(s, "daemon_test") {
				left = append(left, s)
			}
		}
		if len(left) == 0 {
			return
		}
		waitABit(t)
	}
	t.Errorf("still running:\n%s", strings.Join(left, "\n\n"))
}
