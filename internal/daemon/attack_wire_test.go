package daemon_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// If an execute call fails because of the gateway or the upstream, the error states the outcome of the call.
func outcomeOf(t *testing.T, a answer) string {
	t.Helper()
	e, _ := a.json(t)["error"].(map[string]any)
	d, _ := e["details"].(map[string]any)
	s, _ := d["outcome"].(string)
	return s
}

func TestOpenBreakerReportsNothingSent(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{
		config:   strings.Replace(testConfig, "failures: 1000, open_for: 100ms", "failures: 1, open_for: 60s", 1),
		upstream: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	})
	a := g.newAgent("agent-1").agree()
	a.execute(order, map[string]any{"product_id": "p1"}, nil)
	got := a.execute(order, map[string]any{"product_id": "p1"}, nil)
	if got.status != http.StatusServiceUnavailable || got.reason(t) != "BREAKER_OPEN" || outcomeOf(t, got) != "not_sent" ||
		got.header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := g.do("POST", "/api/pat/renew", nil, header{"Authorization": "Bearer " + a.token}); got.status/100 == 5 {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestUnknownPathsNeverBecomeMetricLabels(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	for i := range 5 {
		g.do("GET", fmt.Sprintf("/canary-path-%d", i), nil, nil)
		g.do("PUT", fmt.Sprintf("/api/intents/canary-path-%d", i), nil, nil)
		g.do("CANARY-METHOD", fmt.Sprintf("/api/pat/canary-path-%d", i), nil, nil)
		g.do("GET", fmt.Sprintf("/api/intents/canary-path-%d?query=canary-path", i), nil, nil)
	}
	metrics := g.adminDo("GET", "/metrics", nil)
	if metrics.status != 200 || strings.Contains(strings.ToLower(string(metrics.body)), "canary") {
		for line := range strings.SplitSeq(string(metrics.body), "\n") {
			if strings.Contains(strings.ToLower(line), "canary") {
				t.Error(line)
			}
		}
	}
	if strings.Contains(g.log.String(), "canary-path") {
		t.Error("the log contains a requested path")
	}
}

const otherAgents = `{
  "service-info": {"name": "other.example", "description": "Another", "service_url": "https://other.example"},
  "uim-license": "UIM-BY-NC-v1.0",
  "intents": [
    {"intent_uid": "other.example:ping:v1", "intent_name": "Ping", "description": "Ping.", "input_parameters": [],
     "endpoint": {"url": "https://other.example/ping", "method": "GET"}}]}`

const otherPolicy = `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://other.example/policy/1",
  "permission": [{"target": "other.example:ping:v1", "action": "execute"}]}`

const twoServices = `
server: {listen: 127.0.0.1:0, per_address: 1000000/second, issue_per_address: 100000/minute, PROXIES}
admin: {listen: 127.0.0.1:0, token: ` + adminToken + `}
billing: {credit: 1 EUR, newcomers: 1 EUR}
services:
- {id: shop, agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, hosts: [shop.example], public_url: "https://shop.example"}
- {id: other, agents_file: other.json, policy_file: otherpolicy.json, upstream: {url: UPSTREAM}, hosts: [other.example], public_url: "https://other.example"}
`

func TestServicesAreDistinguishedByHost(t *testing.T) {
	for _, proxied := range []bool{false, true} {
		t.Run(fmt.Sprintf("trusted proxy %v", proxied), func(t *testing.T) {
			proxies := "max_body: 1MiB"
			if proxied {
				proxies = "trusted_proxies: [127.0.0.0/8]"
			}
			g := startGate(t,
				setup{
					config: strings.Replace(twoServices, "PROXIES", proxies, 1),
					files:  map[string]string{"other.json": otherAgents, "otherpolicy.json": otherPolicy},
				})
			for _, tt := range []struct {
				host, forwarded string
				want            string
			}{
				{"shop.example", "", "shop"},
				{"SHOP.example:8443", "", "shop"},
				{"shop.example.", "", "shop"},
				{"other.example", "", "other"},
				{"evil.example", "", ""},
				{"127.0.0.1", "", ""},
				{"shop.example.evil.example", "", ""},
				{"shop.example", "other.example", map[bool]string{false: "shop", true: "other"}[proxied]},
				{"evil.example", "other.example", map[bool]string{false: "", true: "other"}[proxied]},
				{"shop.example", "evil.example", map[bool]string{false: "shop", true: ""}[proxied]},
			} {
				h := header{"Host": tt.host}
				if tt.forwarded != "" {
					h["X-Forwarded-Host"] = tt.forwarded
				}
				got := g.do("GET", "/agents.json", nil, h)
				switch {
				case tt.want == "" && (got.status != 404 || got.reason(t) != "UNKNOWN_HOST"):
					t.Errorf("%+v: %d %s", tt, got.status, got.body)
				case tt.want != "" && (got.status != 200 || !strings.Contains(string(got.body), "https://"+tt.want+".example/api/policy")):
					t.Errorf("%+v: %d %s", tt, got.status, got.body)
				}
			}
			if proxied {
				return
			}
			a := hosted(g.newAgent("agent-1"), "shop.example", "shop.example")
			b := hosted(g.newAgent("agent-1"), "other.example", "other.example") // the same id, another service
			call := func(host, token, uid string) answer {
				return g.do("POST", "/api/intents/execute", []byte(`{"intent_uid":"`+uid+`","parameters":{}}`),
					header{"Host": host, "Authorization": "Bearer " + token, "Content-Type": "application/json"})
			}
			if got := call("shop.example", b.token, search); got.status != 401 || got.reason(t) != "INVALID_TOKEN" {
				t.Errorf("the other service's PAT: %d %s", got.status, got.body)
			}
			if got := call("shop.example", a.token, "other.example:ping:v1"); got.status != 404 || got.reason(t) != "INTENT_NOT_FOUND" ||
				strings.Contains(string(got.body), "other.example") {
				t.Errorf("the other service's intent: %d %s", got.status, got.body)
			}
			got := call("other.example", b.token, "other.example:ping:v1")
			if got.status != 200 || got.header.Get("UIM-License") != "UIM-BY-NC-v1.0" {
				t.Errorf("at its own service: %d %s %v", got.status, got.body, got.header)
			}
			if got := g.do("GET", "/api/intents/other.example:ping:v1", nil, header{"Host": "shop.example"}); got.status != 404 {
				t.Errorf("got %d %s; want 404", got.status, got.body)
			}
			form := "application/x-www-form-urlencoded"
			if got := g.do("POST", "/api/pat/revoke", []byte("token="+b.token),
				header{"Host": "shop.example", "Content-Type": form}); got.status != 200 {
				t.Errorf("got %d %s; want 200", got.status, got.body)
			}
			if got := call("other.example", b.token, "other.example:ping:v1"); got.status != 200 {
				t.Errorf("revoked at another service: %d %s; want 200", got.status, got.body)
			}
			for _, path := range []string{"/agents.json", "/api/policy"} {
				page := g.do("GET", path, nil, header{"Host": "shop.example:1234"})
				if strings.Contains(string(page.body), "1234") || strings.Contains(string(page.body), "127.0.0.1") {
					t.Errorf("%s: %s", path, page.body)
				}
			}
		})
	}
}

// hosted makes an agreement with the service of a host.
func hosted(a *agent, host, issuer string) *agent {
	a.g.t.Helper()
	signed := a.hostedAgreement(host, issuer)
	got := a.g.do("POST", "/api/pat/issue",
		mustJSON(a.g.t, map[string]any{"agent_id": a.id, "signed_policy": signed, "agent_public_key": a.publicKey()}),
		header{"Content-Type": "application/json", "Host": host})
	a.token, _ = got.json(a.g.t)["uim-pat"].(string)
	if a.token == "" {
		a.g.t.Fatalf("no PAT: %d %s", got.status, got.body)
	}
	return a
}

func TestServedDocuments(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	policy := g.do("GET", "/api/policy", nil, nil)
	digest := policyDigest(t, policy.body)
	if policy.header.Get("ETag") != `"`+digest+`"` {
		t.Errorf("ETag %q, digest %s; want %v", policy.header.Get("ETag"), digest, `"`+digest+`"`)
	}
	for _, field := range []string{policy.header.Get("ETag"), "W/" + policy.header.Get("ETag"), `"x", ` + policy.header.Get("ETag"), "*"} {
		if got := g.do("GET", "/api/policy", nil, header{"If-None-Match": field}); got.status != 304 || len(got.body) != 0 ||
			got.header.Get("ETag") != policy.header.Get("ETag") || got.header.Get("Cache-Control") == "" {
			t.Errorf("If-None-Match %s: %d %v", field, got.status, got.header)
		}
	}
	if got := g.do("GET", "/api/policy", nil, header{"If-None-Match": `"x"`}); got.status != 200 {
		t.Errorf("got %d, want 200", got.status)
	}
	for _, path := range []string{"/agents.json", "/api/policy", "/.well-known/jwks.json", "/api/intents/" + search, "/api/intents/search"} {
		get, head := g.do("GET", path, nil, nil), g.do("HEAD", path, nil, nil)
		if head.status != 200 || len(head.body) != 0 || head.header.Get("ETag") != get.header.Get("ETag") ||
			head.header.Get("Content-Type") != get.header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d %v", path, head.status, head.header)
		}
	}
	for _, tt := range []struct{ method, path, allow string }{
		{"GET", "/api/intents/execute", "POST"},
		{"HEAD", "/api/intents/execute", "POST"},
		{"GET", "/uim/execute", "POST"},
		{"PUT", "/api/intents/execute", "POST"},
		{"POST", "/agents.json", "GET, HEAD"},
		{"DELETE", "/api/pat/issue", "POST"},
		{"POST", "/api/intents/x", "GET, HEAD"},
	} {
		got := g.do(tt.method, tt.path, nil, nil)
		allowed := map[string]bool{}
		for m := range strings.SplitSeq(got.header.Get("Allow"), ",") {
			allowed[strings.TrimSpace(m)] = true
		}
		delete(allowed, "OPTIONS")
		want := map[string]bool{}
		for m := range strings.SplitSeq(tt.allow, ", ") {
			want[m] = true
		}
		if got.status != 405 || fmt.Sprint(allowed) != fmt.Sprint(want) {
			t.Errorf("%s %s: %d, Allow %q", tt.method, tt.path, got.status, got.header.Get("Allow"))
		}
	}
}

func TestErrorEnvelopeInDraftForm(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	got := a.execute(search, map[string]any{"query": "lamp"}, header{"Accept": "application/uim+json"})
	if got.status != 200 || got.header.Get("Content-Type") != "application/uim+json" || got.json(t)["status"] != "success" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := a.execute(search, map[string]any{}, header{"Accept": "application/uim+json"}); got.status != 400 ||
		got.reason(t) != "MISSING_PARAMETER" {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

// The responses to admitted calls have all limits, and those to refused calls the tightest one.
func TestRateLimitFieldsOfARefusal(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{policy: strings.Replace(testPolicy, `"rightOperand": 1000`, `"rightOperand": 1`, 1)})
	a := g.newAgent("agent-1").agree()
	a.execute(search, map[string]any{"query": "lamp"}, nil)
	got := a.execute(search, map[string]any{"query": "lamp"}, nil)
	if got.status != 429 || got.header.Get("Retry-After") == "" || !strings.Contains(got.header.Get("RateLimit"), `"hour";r=0;t=`) ||
		got.header.Get("RateLimit-Policy") != `"hour";q=1;w=3600` {
		t.Errorf("got %d %v %s", got.status, got.header, got.body)
	}
}

// A call that ends while the gateway drains is audited, and a call that still sends its body is answered.
func TestDrainCompletesCalls(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 8), make(chan struct{})
	g := startGate(t, setup{upstream: func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"order_id":"o-1"}`)
	}})
	a := g.newAgent("agent-1").agree()
	body := `{"intent_uid":"` + order + `","parameters":{"product_id":"p1"}}`
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn,
		"POST /api/intents/execute HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", a.token, len(body), body)
	<-arrived
	g.cancel()
	timer := time.NewTimer(1500 * time.Millisecond) // longer than the view of revocations stays fresh without a read
	<-timer.C
	close(release)
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || got.StatusCode != http.StatusOK || !strings.HasSuffix(got.Header.Get("UIM-Charge"), "state=captured") {
		t.Fatalf("got %v %v", got, err)
	}
	g.stop()
	audit, err := os.ReadFile(filepath.Join(g.dir, "data", "audit.jsonl"))
	if err != nil || !strings.Contains(string(audit), order) {
		t.Errorf("the call that ended last is not in the audit stream: %q, %v", audit, err)
	}
}
