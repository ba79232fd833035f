package daemon_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/daemon"
)

// slowCall sends the header of a call. It returns a function that sends the body and reads the response.
func (a *agent) slowCall(body string) func() *http.Response {
	a.g.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.g.url, "http://"))
	if err != nil {
		a.g.t.Fatal(err)
	}
	a.g.t.Cleanup(func() { _ = conn.Close() })
	_, _ = fmt.Fprintf(conn,
		"POST /api/intents/execute HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", a.token, len(body))
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") { // the PAT was accepted
		a.g.t.Fatalf("got %q, %v; want a text that contains %q, nil", line, err, " 100 ")
	}
	_, _ = in.ReadString('\n')
	return func() *http.Response {
		_, _ = io.WriteString(conn, body)
		got, err := http.ReadResponse(in, nil)
		if err != nil {
			a.g.t.Fatal(err)
		}
		return got
	}
}

// If a PAT is revoked while a call still sends its body, the call is refused.
func TestRevocationDuringASlowBody(t *testing.T) {
	t.Parallel()
	clock := &clock{now: time.Now()}
	g := startGate(t, setup{now: clock.Now})
	a := g.newAgent("agent-1").agree()
	finish := a.slowCall(`{"intent_uid":"` + search + `","parameters":{"query":"lamp"}}`)
	if got := g.do("POST", "/api/pat/revoke", []byte("token="+a.token),
		header{"Content-Type": "application/x-www-form-urlencoded"}); got.status != 200 {
		t.Fatalf("got %d, want 200", got.status)
	}
	clock.move(900 * time.Millisecond)
	if got := finish(); got.StatusCode != http.StatusUnauthorized && got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("got %d", got.StatusCode)
	}
	if n := len(g.upstream.calls()); n != 0 {
		t.Errorf("%d calls reached the upstream, want 0", n)
	}
}

// If the policy permits a call only until some time, the gateway refuses a call that is complete later, even if it began earlier.
func TestPolicyTimeIsThatOfTheCompleteRequest(t *testing.T) {
	t.Parallel()
	clock := &clock{now: time.Now()}
	ends := clock.Now().Add(800 * time.Millisecond).UTC().Format(time.RFC3339Nano)
	policy := strings.Replace(testPolicy, `{"target": "shop.example:product-details:v1", "action": "execute"}`,
		`{"target": "shop.example:product-details:v1", "action": "execute", "constraint": [{"leftOperand": "dateTime", "operator": "lt", "rightOperand": {"@value": "`+ends+`", "@type": "xsd:dateTime"}}]}`, 1)
	g := startGate(t, setup{now: clock.Now, policy: policy})
	a := g.newAgent("agent-1").agree()
	finish := a.slowCall(`{"intent_uid":"` + details + `","parameters":{"id":"p1"}}`)
	clock.move(900 * time.Millisecond)
	if got := finish(); got.StatusCode == http.StatusOK {
		t.Errorf("got %d", got.StatusCode)
	}
	if n := len(g.upstream.calls()); n != 0 {
		t.Errorf("%d calls reached the upstream, want 0", n)
	}
}

// Clients that disconnect at any time neither lose nor duplicate a charge, and use only the units of calls that reached the upstream.
func TestClientsThatDisconnect(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{config: strings.Replace(testConfig, "1 EUR", "100000 EUR", 1)})
	a, b := g.newAgent("buyer").agree(), g.newAgent("searcher").agree()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 25 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(6*time.Millisecond))))
				_, _ = try(ctx, "POST", g.url+"/api/intents/execute", []byte(`{"intent_uid":"`+order+`","parameters":{"product_id":"p1"}}`),
					header{"Content-Type": "application/json", "Authorization": "Bearer " + a.token})
				cancel()
				ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(6*time.Millisecond))))
				_, _ = try(ctx, "POST", g.url+"/api/intents/execute", []byte(`{"intent_uid":"`+search+`","parameters":{"query":"lamp"}}`),
					header{"Content-Type": "application/json", "Authorization": "Bearer " + b.token})
				cancel()
			}
		})
	}
	wg.Wait()
	dir := g.dir
	g.stop() // waits for calls in progress
	seen := g.upstream.calls()
	g = startGate(t, setup{dir: dir, config: strings.Replace(testConfig, "1 EUR", "100000 EUR", 1)})
	b.g = g
	records, orders, searches := g.executions(), map[string]int{}, 0
	for _, call := range seen {
		if call.method == http.MethodGet {
			searches++
			continue
		}
		orders[call.header.Get("UIM-Execution-Id")]++
	}
	for id, state := range records {
		if state != "captured" || orders[id] != 1 {
			t.Errorf("execution %s is %s and reached the upstream %d times", id, state, orders[id])
		}
	}
	got := b.execute(search, map[string]any{"query": "lamp"}, nil)
	if len(orders) != len(records) || left(got, "hour") != 999-searches {
		t.Errorf("%d orders, %d records; %d searches, %s", len(orders), len(records), searches, got.header.Get("RateLimit"))
	}
	if len(orders) == 0 || len(orders) == 400 {
		t.Logf("no client disconnected during a call: %d orders", len(orders))
	}
}

func TestPATsOfBlockedAgentsStayInvalid(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	first := a.token
	reason := func() string {
		got := a.execute(search, map[string]any{"query": "lamp"}, nil)
		if got.status == http.StatusOK {
			return "ok"
		}
		return got.reason(t)
	}
	block := g.adminDo("POST", "/admin/v1/agents/agent-1/block", map[string]any{"reason": "test"})
	if block.status != 200 {
		t.Fatalf("got %d %s; want 200", block.status, block.body)
	}
	if got := reason(); got != "AGENT_BLOCKED" {
		t.Errorf("blocked: %s, want %q", got, "AGENT_BLOCKED")
	}
	g.stop()
	g = startGate(t, setup{dir: g.dir})
	a.g = g
	if got := reason(); got != "AGENT_BLOCKED" {
		t.Errorf("after a restart: %s, want %q", got, "AGENT_BLOCKED")
	}
	if got := g.adminDo("POST", "/admin/v1/agents/agent-1/unblock", nil); got.status != 200 {
		t.Fatalf("got %d %s; want 200", got.status, got.body)
	}
	if got := reason(); got != "REVOKED_TOKEN" {
		t.Errorf("unblocked, the old PAT: %s, want %q", got, "REVOKED_TOKEN")
	}
	a.agree()
	if got := reason(); got != "ok" {
		t.Errorf("unblocked, a new PAT: %s, want %q", got, "ok")
	}
	g.stop()
	g = startGate(t, setup{dir: g.dir})
	a.g = g
	if got := reason(); got != "ok" {
		t.Errorf("unblocked, a new PAT after a restart: %s, want %q", got, "ok")
	}
	a.token = first
	if got := reason(); got != "REVOKED_TOKEN" {
		t.Errorf("unblocked, the old PAT after a restart: %s, want %q", got, "REVOKED_TOKEN")
	}
}

func TestIdempotencySurvivesARestart(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	key := header{"Idempotency-Key": "order-1"}
	first := a.execute(order, map[string]any{"product_id": "p1"}, key)
	g.stop()
	g2 := startGate(t, setup{dir: g.dir})
	a.g = g2
	again := a.execute(order, map[string]any{"product_id": "p1"}, key)
	if again.status != 200 || string(again.body) != string(first.body) || again.header.Get("Idempotency-Replayed") != "true" ||
		again.header.Get("UIM-Charge") != first.header.Get("UIM-Charge") {
		t.Errorf("got %d %s %v", again.status, again.body, again.header)
	}
	if got := a.execute(order, map[string]any{"product_id": "p2"}, key); got.reason(t) != "IDEMPOTENCY_KEY_REUSED" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	a.agree() // another PAT of the same agent
	if got := a.execute(order, map[string]any{"product_id": "p1"}, key); got.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if n := len(g2.upstream.calls()); n != 0 {
		t.Errorf("%d calls reached the upstream after the restart, want 0", n)
	}
	// The whole request again, with a proof that cannot be used again.
	parameters := map[string]any{"product_id": "p3"}
	h := header{"Idempotency-Key": "order-3", "UIM-Proof": a.proof(order, parameters)}
	if got := a.execute(order, parameters, h); got.status != 200 {
		t.Fatalf("got %d %s; want 200", got.status, got.body)
	}
	if got := a.execute(order, parameters, h); got.status != 200 || got.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

// Reloads during calls do not fail any call, and the policy admits exactly as many calls as without reloads.
func TestReloadsDoNotFailCalls(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	var mu sync.Mutex
	answers := map[string]int{}
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				got, err := try(context.WithoutCancel(ctx), "POST", g.url+"/api/intents/execute",
					[]byte(`{"intent_uid":"`+search+`","parameters":{"query":"lamp"}}`),
					header{"Content-Type": "application/json", "Authorization": "Bearer " + a.token})
				what := fmt.Sprint(got.status, err)
				if got.status >= 500 {
					what = string(got.body)
				}
				mu.Lock()
				answers[what]++
				mu.Unlock()
			}
		})
	}
	for n := range daemon.ReloadsAmidCalls {
		g.write("uimgate.yaml",
			strings.ReplaceAll(strings.Replace(testConfig, "timeout: 2s", fmt.Sprintf("timeout: %ds", 3+n), 1), "UPSTREAM", g.upstream.server.URL))
		if got := g.adminDo("POST", "/admin/v1/reload", nil); got.status != http.StatusOK {
			t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
		}
	}
	cancel()
	wg.Wait()
	for what := range answers {
		if what != "200 <nil>" && what != "429 <nil>" {
			t.Errorf("%d times %s", answers[what], what)
		}
	}
	if n := len(g.upstream.calls()); n != answers["200 <nil>"] || n > 1000 {
		t.Errorf("%d calls reached the upstream, %v", n, answers)
	}
}

// executions returns the states of all records, by id.
func (g *gate) executions() map[string]string {
	g.t.Helper()
	out, after := map[string]string{}, ""
	for {
		page := g.adminDo("GET", "/admin/v1/usage/executions?limit=1000&after="+after, nil).json(g.t)
		items, _ := page["items"].([]any)
		for _, item := range items {
			record, _ := item.(map[string]any)
			id, _ := record["id"].(string)
			out[id], _ = record["state"].(string)
			after = id
		}
		if next, _ := page["next"].(string); next == "" || len(items) == 0 {
			return out
		}
	}
}
