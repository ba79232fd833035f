package daemon_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/daemon"
	"github.com/uimgate/uimgate/pat"
)

func TestAgentDiscoversAgreesAndExecutes(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	file := g.do("GET", "/agents.json", nil, nil)
	published := file.json(t)
	for name, want := range map[string]string{
		"uim-policy-file": g.url + "/api/policy", "uim-api-discovery": g.url + "/api/intents/search",
		"uim-api-execute": g.url + "/api/intents/execute", "uim-issuer": "shop.example",
	} {
		if published[name] != want {
			t.Errorf("%s = %v, want %s", name, published[name], want)
		}
	}
	if strings.Contains(string(file.body), g.upstream.server.URL) {
		t.Error("agents.json names the private upstream")
	}
	a := g.newAgent("agent-1").agree()
	claims := payload(t, a.token)
	for _, name := range []string{"iss", "sub", "aud", "iat", "nbf", "exp", "jti", "scope", "pol", "lmt", "cnf", "pol_digest", "agr"} {
		if _, ok := claims[name]; !ok {
			t.Errorf("the PAT lacks %s", name)
		}
	}
	if len(claims) != 13 {
		t.Errorf("the PAT has claims beyond those listed: %v, want length 13", claims)
	}
	got := a.execute(search, map[string]any{"query": "lamp", "max_price": json.Number("12345678901234567890.125")}, nil)
	if got.status == http.StatusOK {
		t.Error("a price out of range passed")
	}
	got = a.execute(search, map[string]any{"query": "lamp", "max_price": json.Number("99.90")}, header{"UIM-Request-ID": "r-1"})
	if got.status != http.StatusOK || string(got.body) != `{"products":[{"id":"p1"}],"total":1}` {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	for name, want := range map[string]string{
		"Uim-Request-Id": "r-1", "Ratelimit-Policy": `"hour";q=1000;w=3600, "pat";q=10000;w=86400, "service";q=100000;w=3600`,
		"Cache-Control": "no-store", "Content-Type": "application/json",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s = %q, want %q", name, got.header.Get(name), want)
		}
	}
	if r := got.header.Get("RateLimit"); left(got, "hour") != 999 || left(got, "pat") != 9999 || !strings.Contains(r, ";t=") {
		t.Errorf("RateLimit = %q", r)
	}
	calls := g.upstream.calls()
	if len(calls) != 1 || calls[0].method != "GET" || calls[0].uri != "/products?query=lamp&max_price=99.90&page=1" {
		t.Fatalf("upstream saw %+v", calls)
	}
	h := calls[0].header
	if h.Get("Authorization") != "" || h.Get("X-Api-Key") != "upstream-secret-canary" || h.Get("UIM-Agent-Id") != "agent-1" ||
		h.Get("UIM-Token-Id") != tokenID(t, a.token) || h.Get("UIM-Agreement-Assurance") != "fresh" || h.Get("UIM-Execution-Id") == "" ||
		h.Get("Traceparent") == "" {
		t.Errorf("upstream headers: %v", h)
	}
}

func TestLargeNumbersReachTheUpstreamExactly(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	got := a.executeBody([]byte(`{"intent_uid":"`+order+`","parameters":{"product_id":"p1","quantity":99999999999999999998}}`), nil)
	if got.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	if calls := g.upstream.calls(); len(calls) != 1 || !strings.Contains(calls[0].body, `99999999999999999998`) {
		t.Errorf("upstream saw %+v; want length 1 and [0].body containing %q", calls, `99999999999999999998`)
	}
	got = a.executeBody([]byte(`{"intent_uid":"`+order+`","parameters":{"product_id":"p1","quantity":99999999999999999998}}`),
		header{"Idempotency-Key": "k1"})
	if got.status != http.StatusBadRequest || got.reason(t) != "INVALID_PARAMETER" {
		t.Errorf("a number that a fingerprint cannot pin down: %d %s", got.status, got.body)
	}
}

func TestExecuteInDraftForm(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	got := a.executeBody([]byte(`{"intent":{"uid":"`+order+`","parameters":{"product_id":"p1"}},"context":{"session":"s"}}`),
		header{"UIM-Version": "1.0"})
	tree := got.json(t)
	meta, _ := tree["meta"].(map[string]any)
	charge, _ := meta["charge"].(map[string]any)
	limits, _ := meta["rate_limit"].(map[string]any)
	if got.status != http.StatusOK || tree["status"] != "success" || charge["state"] != "captured" || charge["amount"] != "0.25" ||
		limits["remaining"] == nil {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestEveryAliasIsServed(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	for _, path := range []string{
		"/agents.json", "/.well-known/agents.json", "/api/policy", "/policy.json", "/uim-policy.json", "/api/intents/search?query=lamp",
		"/uim/intents/search", "/discovery", "/api/intents/" + search, "/uim/intents/" + search,
		"/api/intents/shop.example%3Asearch-products%3Av1",
		"/.well-known/jwks.json",
	} {
		if got := g.do("GET", path, nil, nil); got.status != http.StatusOK || len(got.json(t)) == 0 {
			t.Errorf("GET %s: %d %.200s", path, got.status, got.body)
		}
	}
	policy := g.do("GET", "/api/policy", nil, nil)
	if string(policy.body) != testPolicy {
		t.Error("the policy is not served byte for byte")
	}
	if got := g.do("GET", "/api/policy", nil, header{"If-None-Match": policy.header.Get("ETag")}); got.status != http.StatusNotModified {
		t.Errorf("If-None-Match: %d, want %d", got.status, http.StatusNotModified)
	}
}

func TestIndependentAgents(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	stdin := mustJSON(t, map[string]any{
		"n": key.N, "d": key.D, "pem": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
	})
	for _, tt := range []struct{ name, command, script string }{
		{"json.dumps, RSA, hex, PEM", "python3", "guide_agent.py"},
		{"compact JWS RS256 over the policy, base64url of PEM", "python3", "jws_agent.py"},
		{"JSON.stringify, RSA, hex, PEM", "node", "guide_agent.mjs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := exec.LookPath(tt.command); err != nil {
				if os.Getenv("CI") != "" {
					t.Fatalf("%s is needed in CI", tt.command)
				}
				t.Skipf("%s is not installed", tt.command)
			}
			g := startGate(t, setup{})
			c := exec.CommandContext(t.Context(), tt.command, "testdata/foreign/"+tt.script, g.url, search, `{"query": "lamp"}`)
			c.Stdin = strings.NewReader(string(stdin))
			var stderr strings.Builder
			c.Stderr = &stderr
			out, err := c.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			var answer struct{ Total int }
			if err := json.Unmarshal(out, &answer); err != nil || answer.Total != 1 {
				t.Errorf("got %s, %v", out, err)
			}
			if h := g.upstream.calls()[0].header; h.Get("UIM-Agreement-Assurance") != "static" {
				t.Errorf("assurance = %q, want %q", h.Get("UIM-Agreement-Assurance"), "static")
			}
		})
	}
}

// Ten times as many concurrent calls as the limit has units.
func TestConcurrentCallsAdmitExactlyTheLimit(t *testing.T) {
	t.Parallel()
	const each = 20
	const all = daemon.ConcurrentAgents * each
	const units = all / 10
	g := startGate(t, setup{
		config: strings.NewReplacer(
			"timeout: 2s", "timeout: 60s", "per_address: 1000000/second", "per_address: 1000000/second, connections_per_address: 16384",
		).Replace(testConfig),
		policy: strings.Replace(testPolicy, `"rightOperand": 1000`, fmt.Sprintf(`"rightOperand": %d`, units), 1),
	})
	agents := []*agent{g.newAgent("agent-1").agree()}
	again := *agents[0] // a second PAT of the same agent shares its counter
	agents = append(agents, again.agree())
	body := mustJSON(t, map[string]any{"intent_uid": search, "parameters": map[string]any{"query": "lamp"}})
	var admitted, refused, other atomic.Int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	for worker := range daemon.ConcurrentAgents {
		token := agents[worker%len(agents)].token
		wg.Go(func() {
			<-start
			for range each {
				var got answer
				var err error
				for range 100 { // a gateway without CPU time may not read revocations in time, and then refuses all calls
					got, err = try(t.Context(), "POST", g.url+"/api/intents/execute", body,
						header{"Content-Type": "application/json", "Authorization": "Bearer " + token})
					if err != nil || got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
						break
					}
				}
				switch {
				case err == nil && got.status == http.StatusOK:
					admitted.Add(1)
				case err == nil && got.status == http.StatusTooManyRequests && got.header.Get("Retry-After") != "":
					refused.Add(1)
				default:
					other.Add(1)
				}
			}
		})
	}
	close(start)
	wg.Wait()
	if admitted.Load() != units || refused.Load() != all-units || other.Load() != 0 {
		t.Errorf("admitted %d, refused %d, other %d; want exactly %d, %d, 0", admitted.Load(), refused.Load(), other.Load(), units, all-units)
	}
	if n := len(g.upstream.calls()); n != units {
		t.Errorf("the upstream saw %d calls, want %d", n, units)
	}
}

func TestRenewalKeepsCountsAndEndsTheOldPAT(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	a.execute(search, map[string]any{"query": "lamp"}, nil)
	without := g.do("POST", "/api/pat/renew", nil, header{"Authorization": "Bearer " + a.token})
	if without.reason(t) != "POLICY_REQUIRES_VERIFICATION" {
		t.Errorf("renewal without proof where the policy charges: %s", without.body)
	}
	digest, err := pat.RenewDigest(pat.TokenID(tokenID(t, a.token)))
	if err != nil {
		t.Fatal(err)
	}
	proof := a.sign(digest)
	renewed := g.do("POST", "/api/pat/renew", nil, header{"Authorization": "Bearer " + a.token, "UIM-Proof": proof})
	if renewed.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", renewed.status, renewed.body, http.StatusOK)
	}
	old := a.token
	a.token, _ = renewed.json(t)["uim-pat"].(string)
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); left(got, "hour") != 998 {
		t.Errorf("after renewal: %d, RateLimit %q", got.status, got.header.Get("RateLimit"))
	}
	again := g.do("POST", "/api/pat/renew", nil, header{"Authorization": "Bearer " + old, "UIM-Proof": proof})
	second, _ := again.json(t)["uim-pat"].(string)
	if second == "" || tokenID(t, second) != tokenID(t, a.token) {
		t.Errorf("the same renewal again: %d %s", again.status, again.body)
	}
}

func TestOldPATEndsAMinuteAfterRenewalDespiteARestart(t *testing.T) {
	t.Parallel()
	dir, clock := t.TempDir(), &clock{now: time.Now()}
	g := startGate(t, setup{dir: dir, now: clock.Now})
	a := g.newAgent("agent-1").agree()
	digest, err := pat.RenewDigest(pat.TokenID(tokenID(t, a.token)))
	if err != nil {
		t.Fatal(err)
	}
	if got := g.do("POST", "/api/pat/renew", nil,
		header{"Authorization": "Bearer " + a.token, "UIM-Proof": a.sign(digest)}); got.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK {
		t.Errorf("within the minute: %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	g.stop()
	clock.move(2 * time.Minute)
	a.g = startGate(t, setup{dir: dir, now: clock.Now})
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.reason(t) != "REVOKED_TOKEN" {
		t.Errorf("two minutes later, after a restart: %d %s", got.status, got.body)
	}
}

func TestRevocationTakesEffectAtOnceAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := startGate(t, setup{dir: dir})
	a, b := g.newAgent("agent-1").agree(), g.newAgent("agent-2").agree()
	if got := g.do("POST", "/api/pat/revoke", []byte("token="+a.token),
		header{"Content-Type": "application/x-www-form-urlencoded"}); got.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	if got := g.do("POST", "/api/pat/revoke", []byte("token=nonsense"),
		header{"Content-Type": "application/x-www-form-urlencoded"}); got.status != http.StatusOK {
		t.Errorf("revoking nonsense: %d, want %d", got.status, http.StatusOK)
	}
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusUnauthorized ||
		got.reason(t) != "REVOKED_TOKEN" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := b.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK {
		t.Errorf("another's PAT: %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	g.stop()
	g2 := startGate(t, setup{dir: dir})
	a.g, b.g = g2, g2
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.reason(t) != "REVOKED_TOKEN" {
		t.Errorf("after a restart: %d %s", got.status, got.body)
	}
	if got := b.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK || left(got, "hour") != 998 {
		t.Errorf("another's PAT after a restart: %d %s, RateLimit %q", got.status, got.body, got.header.Get("RateLimit"))
	}
}

func TestIntrospectionIsOnlyForTheBearer(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a, b := g.newAgent("agent-1").agree(), g.newAgent("agent-2").agree()
	form := header{"Content-Type": "application/x-www-form-urlencoded", "Authorization": "Bearer " + a.token}
	if got := g.do("POST", "/api/pat/introspect", []byte("token="+a.token), form); got.json(t)["active"] != true {
		t.Errorf("own: %s", got.body)
	}
	if got := g.do("POST", "/api/pat/introspect", []byte("token="+b.token), form); got.status != http.StatusForbidden {
		t.Errorf("another's: %d %s; want %v", got.status, got.body, http.StatusForbidden)
	}
}

func TestChangedPolicyRequiresAgreementFromTheNextCall(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	oldPolicy := a.agreement(nil)
	g.write("policy.json", strings.Replace(testPolicy, `"rightOperand": 1000`, `"rightOperand": 500`, 1))
	if got := g.adminDo("POST", "/admin/v1/reload", map[string]any{}); got.status != http.StatusOK {
		t.Fatalf("reload: %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusForbidden ||
		got.reason(t) != "POLICY_REQUIRES_AGREEMENT" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := a.issueWith(oldPolicy); got.reason(t) != "POLICY_MISMATCH" {
		t.Errorf("an agreement to the older policy: %d %s", got.status, got.body)
	}
	a.agree()
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK || left(got, "hour") != 499 {
		t.Errorf("got %d %s %q", got.status, got.body, got.header.Get("RateLimit-Policy"))
	}
	g.write("policy.json", `{"broken": `)
	if got := g.adminDo("POST", "/admin/v1/reload", map[string]any{}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a broken reload: %d %s; want %v", got.status, got.body, http.StatusUnprocessableEntity)
	}
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK {
		t.Errorf("after a refused reload: %d %s; want %v", got.status, got.body, http.StatusOK)
	}
}
