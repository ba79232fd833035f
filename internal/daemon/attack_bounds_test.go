package daemon_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/daemon"
	"github.com/uimgate/uimgate/pat"
)

// The largest invalid inputs that fit take little time, and get a short response.
func TestLargeInvalidInputIsCheap(t *testing.T) {
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	many := func(form, between string, n int) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(form, i)
		}
		return strings.Join(parts, between)
	}
	long := strings.Repeat("x", 1<<20-300)
	scope := make([]string, 1024)
	for i := range scope {
		scope[i] = fmt.Sprintf("shop.example:intent-%d:v1:execute", i)
	}
	execute := func(body string) func() answer {
		return func() answer { return a.executeBody([]byte(body), nil) }
	}
	issue := func(body string) func() answer {
		return func() answer {
			return g.do("POST", "/api/pat/issue", []byte(body), header{"Content-Type": "application/json"})
		}
	}
	for name, send := range map[string]func() answer{
		"unknown parameters": execute(`{"intent_uid":"` + search + `","parameters":{"query":"x",` +
			many(`"quer%d":1`, ",", 70*daemon.LargeNonsense) + `}}`),
		"a long parameter name": execute(`{"intent_uid":"` + search + `","parameters":{"` + long + `":1}}`),
		"a long parameter":      execute(`{"intent_uid":"` + search + `","parameters":{"query":"` + long + `"}}`),
		"a long category":       execute(`{"intent_uid":"` + search + `","parameters":{"query":"lamp","category":"` + long + `"}}`),
		"a long number": execute(`{"intent_uid":"` + search + `","parameters":{"query":"lamp","max_price":` +
			strings.Repeat("9", 1<<20-200) + `}}`),
		"a huge exponent":        execute(`{"intent_uid":"` + search + `","parameters":{"query":"lamp","max_price":1e999999999}}`),
		"a long uid":             execute(`{"intent_uid":"` + long + `","parameters":{}}`),
		"a long uid with colons": execute(`{"intent_uid":"shop.example:` + long[:1<<19] + `:v1","parameters":{}}`),
		"a long member name":     execute(`{"` + long + `":1}`),
		"many members":           execute(`{` + many(`"intent_uidd%d":1`, ",", 40*daemon.LargeNonsense) + `}`),
		"a list of lists": execute(`{"intent_uid":"` + search + `","parameters":{"query":[` +
			strings.Repeat("[],", 300*daemon.LargeNonsense) + `[]]}}`),
		"a wide context": execute(`{"intent":{"uid":"` + search + `","parameters":{}},"context":[` +
			strings.Repeat("{},", 300*daemon.LargeNonsense) + `{}]}`),
		"a large scope": issue(string(mustJSON(t,
			map[string]any{"agent_id": "big", "signed_policy": "AAAA", "agent_public_key": a.publicKey(), "scope": scope}))),
		"a large detached signature": issue(`{"agent_id":"big","signed_policy":"` + long + `","agent_public_key":"` + a.publicKey() + `"}`),
		"a large JWS": issue(`{"agent_id":"big","signed_policy":"` + long[:1<<19] + `.` + long[:1<<18] +
			`.x","agent_public_key":"` + a.publicKey() + `"}`),
		"many dots": issue(`{"agent_id":"big","signed_policy":"` + strings.Repeat(".", 1<<19) + `","agent_public_key":"` + a.publicKey() +
			`"}`),
		"a large key":     issue(`{"agent_id":"big","signed_policy":"AAAA","agent_public_key":"` + long + `"}`),
		"a large RSA key": issue(`{"agent_id":"big","signed_policy":"AAAA","agent_public_key":{"kty":"RSA","e":"AQAB","n":"` + long + `"}}`),
		"a long agent id": issue(`{"agent_id":"` + long + `","signed_policy":"AAAA","agent_public_key":"` + a.publicKey() + `"}`),
		"a scope in the agreement": func() answer {
			return a.issueWith(a.agreement(func(c *pat.AgreementClaims) { c.Scope = scope }))
		},
		"many query parameters": func() answer { return g.do("GET", "/api/intents/search?"+many("q%d=1", "&", 7000), nil, nil) },
		"a long query":          func() answer { return g.do("GET", "/api/intents/search?query="+many("w%d", "+", 8000), nil, nil) },
		"a long path":           func() answer { return g.do("GET", "/api/intents/shop.example:"+long[:50_000]+":v1", nil, nil) },
		"many entity tags": func() answer {
			return g.do("GET", "/api/policy", nil, header{"If-None-Match": many(`"%d"`, ",", 8000)})
		},
		"many accepted types": func() answer { return g.do("GET", "/api/policy", nil, header{"Accept": many(`a/%d`, ",", 8000)}) },
		"a form of many tokens": func() answer {
			return g.do("POST", "/api/pat/revoke", []byte(many("t%d=1", "&", 100*daemon.LargeNonsense)),
				header{"Content-Type": "application/x-www-form-urlencoded"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			got := send()
			t.Logf("%d, %d bytes, %s, %.150s", got.status, len(got.body), time.Since(began), got.body)
			if got.status == http.StatusInternalServerError {
				t.Errorf("got %d %.500s", got.status, got.body)
			}
			if len(got.body) > 64<<10 {
				t.Errorf("a response of %d bytes", len(got.body))
			}
		})
	}
}
