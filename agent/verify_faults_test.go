package agent_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/verify"
)

// Each of these services is our gateway with one fault.
func TestFaults(t *testing.T) {
	t.Parallel()
	g := startGate(t, 100_000, passing)
	t.Cleanup(func() {
		if n := g.other.Load(); n != 0 {
			t.Errorf("%d calls to intents that are not safe reached the upstream", n)
		}
	})
	const agents, policy, search = "/agents.json", "/api/policy", "/api/intents/search"
	another := base64.StdEncoding.EncodeToString(anyKey())
	var fetched atomic.Int64
	for name, tt := range map[string]struct {
		between func(string) http.Handler
		want    []string
	}{
		"agents.json as HTML": {onPath(agents, header("Content-Type", "text/html; charset=utf-8")), []string{"agents-type"}},
		"endless agents.json": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, agents) {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			chunk := bytes.Repeat([]byte(" "), 1<<20)
			for {
				if _, err := w.Write(chunk); err != nil {
					return true
				}
			}
		}), []string{"agents-found"}},
		"agents.json redirects elsewhere": {func(gateway string) http.Handler {
			return instead(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == agents {
					http.Redirect(w, r, gateway+agents, http.StatusFound)
				}
				return r.URL.Path == agents
			})(gateway)
		}, []string{"agents-direct"}},
		"openapi.json has a null": {onPath("/openapi.json", func(r *http.Response) error {
			data, err := io.ReadAll(r.Body)
			replaced(r, bytes.Replace(data, []byte(`"required":[`), []byte(`"required":null,"x-was":[`), 1))
			return err
		}), []string{"openapi"}},
		"openapi.json has an unresolved reference": {onPath("/openapi.json", func(r *http.Response) error {
			data, err := io.ReadAll(r.Body)
			replaced(r, bytes.ReplaceAll(data, []byte(`"Error":{`), []byte(`"Eror":{`)))
			return err
		}), []string{"openapi"}},
		"a schema of openapi.json refers to a file": {onPath("/openapi.json", func(r *http.Response) error {
			data, err := io.ReadAll(r.Body)
			replaced(r, bytes.Replace(data, []byte(`"Error":{`), []byte(`"Error":{"$ref":"file:///etc/passwd",`), 1))
			return err
		}), []string{"openapi"}},
		"agents.json has a member twice": {onPath(agents, func(r *http.Response) error {
			data, err := io.ReadAll(r.Body)
			replaced(r, bytes.Replace(data, []byte("{"), []byte(`{"x-a": 1, "x-a": 2,`), 1))
			return err
		}), []string{"agents-json"}},
		"agents.json without ETag": {onPath(agents, header("ETag", "")), []string{"agents-etag"}},
		"an intent without name": {
			onBoth(func(m map[string]any) { delete(anIntent(m), "intent_name") }),
			[]string{"intent-names", "search-same"},
		},
		"invalid uid": {
			onBoth(func(m map[string]any) { anIntent(m)["intent_uid"] = "shop:Search" }),
			[]string{"intent-uid", "mcp-intents", "a2a-skills"},
		},
		"unknown type": {
			onBoth(func(m map[string]any) { anIntent(m)["input_parameters"].([]any)[1].(map[string]any)["type"] = "text" }),
			[]string{"parameter-types", "search-same"},
		},
		"invalid public key": {onBoth(func(m map[string]any) { m["uim-public-key"] = "AAAA" }), []string{"public-key"}},
		"another public key": {onBoth(func(m map[string]any) { m["uim-public-key"] = another }), []string{"jwks-agrees"}},
		"invalid license":    {onBoth(func(m map[string]any) { m["uim-license"] = "MIT" }), []string{"license"}},
		"license of data":    {onBoth(func(m map[string]any) { m["uim-license"] = "D-UIM-CC0-v1.0" }), nil},
		"a policy file at another address": {
			onBoth(func(m map[string]any) { m["uim-policy-file"] = "https://other.example/policy.json" }),
			[]string{"policy-file", "policy-served"},
		},
		"a policy that changes": {
			onPath(policy, only(200, members(func(m map[string]any) { m["note"] = fmt.Sprint(fetched.Add(1)) }))),
			[]string{"policy-stable"},
		},
		"a policy about another target": {onPath(policy, only(200, members(func(m map[string]any) {
			m["permission"].([]any)[0].(map[string]any)["target"] = "https://other.example/thing"
		}))), []string{"policy-targets", "pat-issue"}}, // the gateway expects a signature of its own policy
		"search that ignores page_size": {without("page_size"), []string{"search-page-size"}},
		"search that ignores page":      {without("page"), []string{"search-pages"}},
		"search that ignores uid":       {without("uid"), []string{"search-uid", "search-nothing"}},
		"search that ignores tags":      {without("tags"), []string{"search-tags"}},
		"search without pagination": {
			onPath(search, only(200, members(func(m map[string]any) { delete(m, "pagination") }))),
			[]string{"search-pagination"},
		},
		"errors as HTML": {everywhere(html), []string{"error-envelope", "a2a-http"}},
		"errors with a stack": {
			everywhere(only(404, members(func(m map[string]any) { m["error"].(map[string]any)["message"] = stack }))),
			[]string{"error-internals"},
		},
		"a code that does not match the status": {
			everywhere(only(404, members(func(m map[string]any) { m["error"].(map[string]any)["code"] = "FORBIDDEN" }))),
			[]string{"error-codes"},
		},
		"no WWW-Authenticate": {
			everywhere(header("WWW-Authenticate", "")),
			[]string{"error-challenge", "mcp-challenge", "a2a-challenge"},
		},
		"no RateLimit":          {everywhere(header("RateLimit", "")), []string{"execute-limits"}},
		"another request id":    {everywhere(header("UIM-Request-ID", "mine")), []string{"request-id"}},
		"the PAT may be stored": {onPath("/api/pat/issue", header("Cache-Control", "")), []string{"pat-no-store"}},
		"status 500": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			return strings.Contains(r.URL.Path, "no-such-path") && fail(w, 500, "INTERNAL_SERVER_ERROR", "Sorry.")
		}), []string{"error-failures"}},
		"status 500 with a stack": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			return strings.Contains(r.URL.Path, "no-such-path") && fail(w, 500, "INTERNAL_SERVER_ERROR", stack)
		}), []string{"error-failures", "error-internals"}},
		"200 for an unknown path": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			return strings.Contains(r.URL.Path, "no-such-path") && fail(w, 200, "NONE", "None")
		}), []string{"error-404"}},
		"any PAT is accepted": {
			careless(func(string) string { return "" }),
			[]string{"pat-tampered", "pat-altered", "pat-unsigned", "pat-hmac", "pat-other-key"},
		},
		"200 for an invalid PAT": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			return r.Header.Get("Authorization") == "Bearer uimgate-verify" && fail(w, 200, "NONE", "None")
		}), []string{"pat-garbage"}},
		"signatures are not compared": {
			careless(func(s string) string { return s[:max(0, strings.LastIndexByte(s, '.'))] }),
			[]string{"pat-tampered", "pat-other-key"},
		},
		"a PAT with alg none": {newMint(unsigned).between, []string{"pat-algorithm"}},
		"a PAT with HS256":    {newMint(symmetric).between, []string{"pat-algorithm"}},
		"a PAT without nbf":   {newMint(signed(map[string]any{"nbf": nil})).between, []string{"pat-claims"}},
		"a PAT without jti":   {newMint(signed(map[string]any{"jti": nil})).between, []string{"pat-claims"}},
		"a PAT that never expires": {
			newMint(signed(map[string]any{"exp": json.Number("99999999999")})).between,
			[]string{"pat-answer", "pat-times"},
		},
		"PAT for another agent": {newMint(signed(map[string]any{"sub": "somebody"})).between, []string{"pat-subject"}},
		"PAT of another issuer": {newMint(signed(map[string]any{"iss": "somebody.example"})).between, []string{"pat-issuer"}},
		"a PAT with a scope of words": {
			newMint(signed(map[string]any{"scope": "shop.example:search-products:v1:execute"})).between,
			[]string{"pat-scope"},
		},
		"a PAT by an unknown key": {unpublished, []string{"pat-signature"}},
		"revocation that does nothing": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			return r.URL.Path == "/api/pat/revoke" && fail(w, 200, "NONE", "None")
		}), []string{"revoked-refused"}},
		"no renewal": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/pat/renew") && fail(w, 404, "NOT_FOUND", "Nothing here.")
		}), []string{"renew"}},
		"execute redirects elsewhere": {verifyRedirecting, []string{"execute-answers"}},
		"answers that break the output schema": {
			onPath("/api/intents/execute", only(200, members(func(m map[string]any) { delete(m, "products") }))),
			[]string{"execute-output"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g.found(t, tt.between, tt.want)
		})
	}
}

// found verifies the gateway through a proxy, and compares the ids of the failed checks.
func (g *gate) found(t *testing.T, between func(string) http.Handler, want []string) verify.Report {
	t.Helper()
	o := agent.Options{Wrap: g.through(t, between(g.listen)), MaxDocument: 1 << 20}
	r := run(t, verify.Options{Target: g.url, Agree: true, Client: o})
	got := failures(r)
	want = slices.Clone(want)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("failed checks %v, want %v\n%s", got, want, table(r))
	}
	return r
}
