package daemon_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"testing"
)

func TestChargesAreReturnedUntilCreditEnds(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	for i := range 4 { // 4 × 0.25 EUR: the credit of 1 EUR
		got := a.execute(order, map[string]any{"product_id": "p1"}, nil)
		charge := got.header.Get("UIM-Charge")
		if got.status != http.StatusOK || !strings.HasPrefix(charge, "0.25 EUR; id=") || !strings.HasSuffix(charge, "; state=captured") {
			t.Fatalf("call %d: %d %s, UIM-Charge %q", i, got.status, got.body, charge)
		}
	}
	got := a.execute(order, map[string]any{"product_id": "p1"}, nil)
	if got.status != http.StatusPaymentRequired || got.reason(t) != "POLICY_REQUIRES_PAYMENT" || got.header.Get("UIM-Charge") != "" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if n := len(g.upstream.calls()); n != 4 {
		t.Errorf("the upstream saw %d calls, want 4", n)
	}
	// A new key does not bring new credit: all unapproved agents share one limit.
	other := g.newAgent("agent-2").agree()
	if got := other.execute(order, map[string]any{"product_id": "p1"}, nil); got.status != http.StatusPaymentRequired {
		t.Errorf("another unapproved agent: %d %s; want %v", got.status, got.body, http.StatusPaymentRequired)
	}
}

func TestFailuresAreNotCharged(t *testing.T) {
	t.Parallel()
	fail := true
	var mu sync.Mutex
	g := startGate(t, setup{upstream: func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if fail {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write([]byte(`{"order_id":"o-1"}`))
	}})
	a := g.newAgent("agent-1").agree()
	for range 10 { // ten failed orders would exhaust the credit
		a.execute(order, map[string]any{"product_id": "p1"}, nil)
	}
	mu.Lock()
	fail = false
	mu.Unlock()
	if got := a.execute(order, map[string]any{"product_id": "p1"}, nil); got.status != http.StatusOK {
		t.Errorf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
}

func TestIdempotencyKeyMakesOneCall(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	key := header{"Idempotency-Key": "order-1"}
	first := a.execute(order, map[string]any{"product_id": "p1"}, key)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			again, err := try(t.Context(), "POST", g.url+"/api/intents/execute",
				mustJSON(t, map[string]any{"parameters": map[string]any{"product_id": "p1"}, "intent_uid": order}),
				header{"Content-Type": "application/json", "Authorization": "Bearer " + a.token, "Idempotency-Key": "order-1"})
			if err != nil || again.status != first.status || string(again.body) != string(first.body) ||
				again.header.Get("Idempotency-Replayed") != "true" || again.header.Get("UIM-Charge") != first.header.Get("UIM-Charge") {
				t.Errorf("%v: %d %s %v", err, again.status, again.body, again.header)
			}
		})
	}
	wg.Wait()
	if n := len(g.upstream.calls()); n != 1 {
		t.Errorf("the upstream saw %d calls, want 1", n)
	}
	if got := a.execute(order, map[string]any{"product_id": "p2"}, key); got.status != http.StatusConflict ||
		got.reason(t) != "IDEMPOTENCY_KEY_REUSED" {
		t.Errorf("another request under the key: %d %s", got.status, got.body)
	}
	b := g.newAgent("agent-2").agree()
	if got := b.execute(order, map[string]any{"product_id": "p2"}, key); got.status != http.StatusOK ||
		got.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("another agent's same key: %d %s", got.status, got.body)
	}
}

func TestRunningCallIsNotRepeated(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	g := startGate(t, setup{upstream: func(w http.ResponseWriter, _ *http.Request) {
		close(arrived) // a second call would panic here
		<-release
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"order_id":"o-1"}`))
	}})
	a := g.newAgent("agent-1").agree()
	key := header{"Idempotency-Key": "order-1"}
	first := make(chan answer, 1)
	go func() { first <- a.execute(order, map[string]any{"product_id": "p1"}, key) }()
	<-arrived
	second := a.execute(order, map[string]any{"product_id": "p1"}, key)
	if second.status != http.StatusConflict || second.reason(t) != "IDEMPOTENCY_IN_PROGRESS" || second.header.Get("Retry-After") != "1" {
		t.Errorf("got %d %s", second.status, second.body)
	}
	close(release)
	if got := <-first; got.status != http.StatusOK {
		t.Errorf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
}

// The failure of a call is replayed like its success. Only a call that was never sent may be tried again.
func TestFailuresUnderAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{upstream: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"error":"sold out"}`))
	}})
	a := g.newAgent("agent-1").agree()
	key := header{"Idempotency-Key": "order-1", "UIM-Request-Id": "r-1"}
	first := a.execute(order, map[string]any{"product_id": "p1"}, key)
	again := a.execute(order, map[string]any{"product_id": "p1"}, key)
	if first.status != http.StatusConflict || again.status != first.status || string(again.body) != string(first.body) ||
		again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%d %s, then %d %s", first.status, first.body, again.status, again.body)
	}
	if n := len(g.upstream.calls()); n != 1 {
		t.Errorf("the upstream saw %d calls, want 1", n)
	}
}

func TestOperatorResolvesUnknownOutcome(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{upstream: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte(`{"order_id"`))
	}})
	a := g.newAgent("agent-1").agree()
	key := header{"Idempotency-Key": "order-1"}
	got := a.execute(order, map[string]any{"product_id": "p1"}, key)
	charge := got.header.Get("UIM-Charge")
	if got.status != http.StatusBadGateway || !strings.HasSuffix(charge, "; state=pending") {
		t.Fatalf("%d %s, UIM-Charge %q", got.status, got.body, charge)
	}
	if again := a.execute(order, map[string]any{"product_id": "p1"}, key); again.status != http.StatusConflict ||
		again.reason(t) != "OUTCOME_UNKNOWN" {
		t.Errorf("the same key: %d %s", again.status, again.body)
	}
}

func TestStaticAgreementIsRestricted(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1")
	policy := g.do("GET", "/api/policy", nil, nil)
	got := a.issueWith(hex.EncodeToString(ed25519.Sign(a.key, policy.body)))
	a.token, _ = got.json(t)["uim-pat"].(string)
	if got.status != http.StatusOK ||
		!strings.Contains(string(got.body), `"scope_omitted":[{"entry":"`+order+`:execute","reason":"FRESH_AGREEMENT_REQUIRED"}]`) {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK {
		t.Errorf("a free intent: %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	if got := a.execute(order, map[string]any{"product_id": "p1"}, nil); got.status != http.StatusForbidden {
		t.Errorf("a paid intent: %d %s; want %v", got.status, got.body, http.StatusForbidden)
	}
	if calls := g.upstream.calls(); len(calls) != 1 || calls[0].header.Get("UIM-Agreement-Assurance") != "static" {
		t.Errorf("upstream saw %+v", calls)
	}
	required := startGate(t, setup{config: strings.Replace(testConfig, "pat: {", "pat: {freshness: required, ", 1)})
	b := required.newAgent("agent-1")
	if got := b.issueWith(hex.EncodeToString(ed25519.Sign(b.key, policy.body))); got.reason(t) != "FRESH_AGREEMENT_REQUIRED" {
		t.Errorf("where freshness is required: %d %s", got.status, got.body)
	}
}

func TestAllowlistAdmitsOnlyItsAgents(t *testing.T) {
	t.Parallel()
	probe := startGate(t, setup{})
	known, unknown := probe.newAgent("known"), probe.newAgent("unknown")
	jkt := thumbprint(t, known)
	g := startGate(t, setup{config: strings.Replace(testConfig, "pat: {", "pat: {admission: allowlist, allow: ["+jkt+"], ", 1)})
	known.g, unknown.g = g, g
	known.agree()
	if got := unknown.issueWith(unknown.agreement(nil)); got.status != http.StatusForbidden || got.reason(t) != "INSUFFICIENT_PERMISSIONS" {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestAttemptsOverAForbiddenLimitBlock(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{
		policy: strings.Replace(testPolicy, `"rightOperand": 1000`, `"rightOperand": 2`, 1),
		config: strings.Replace(testConfig, "pat: {", "pat: {suspend_after: 3, ", 1),
	})
	a := g.newAgent("agent-1").agree()
	var reasons []string
	for range 6 {
		got := a.execute(search, map[string]any{"query": "lamp"}, nil)
		if got.status == http.StatusOK {
			reasons = append(reasons, "ok")
			continue
		}
		reasons = append(reasons, got.reason(t))
	}
	want := "ok ok RATE_LIMIT_EXCEEDED RATE_LIMIT_EXCEEDED AGENT_BLOCKED AGENT_BLOCKED"
	if got := strings.Join(reasons, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := a.issueWith(a.agreement(nil)); got.reason(t) != "AGENT_BLOCKED" {
		t.Errorf("a new agreement of a blocked agent: %d %s", got.status, got.body)
	}
	if got := g.adminDo("POST", "/admin/v1/agents/agent-1/unblock", map[string]any{}); got.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	a.agree() // the attempts before do not count again
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.reason(t) != "RATE_LIMIT_EXCEEDED" {
		t.Errorf("after it was unblocked: %d %s", got.status, got.body)
	}
}
