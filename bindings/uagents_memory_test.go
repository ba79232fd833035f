package bindings_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// A slow reader keeps a reply in memory, so replies count against the memory of requests, and unapproved agents may use only half of it.
func TestRepliesUseMemoryBudget(t *testing.T) {
	t.Parallel()
	const budget = 2 << 20
	registry := strings.Replace(uagentsSettings, "key_file: seed.txt", "key_file: seed.txt, registry: true", 1)
	g := gatetest.New(t, registry, func(g *gatetest.Gate) {
		g.Write("seed.txt", uagentsSeed+"\n")
		g.Write("policy.json", gatetest.PolicyFile+strings.Repeat(" ", 900_000))
		g.Memory = membudget.NewBudget(budget, func() { g.Metrics.Shed(reason.ShedMemory) })
	})
	p := &uagentsPeer{g, keyOf(t, "alice recovery password"), keyOf(t, uagentsSeed).Address()}
	a := p.submit(http.MethodPost, p.text(p.unsigned("UIMPolicyRequest", "{}").Sign(p.key)))
	if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.Contains(string(a.Body), "no memory") {
		t.Errorf("an unapproved agent that requests a large policy: %d %.200s", a.Status, a.Body)
	}
	if model, _ := p.ask("HealthCheck", "{}"); model != "AgentHealth" {
		t.Errorf("got %q, want %q", model, "AgentHealth")
	}
	for i := range 100 {
		if i == 50 {
			p.Pass(time.Minute)
		}
		statement := located("http://a.example/")
		var endpoints []any
		for range 8 {
			endpoints = append(endpoints, map[string]any{"url": "http://a.example/" + strings.Repeat("x", 2000), "weight": json.Number("1")})
		}
		statement["endpoints"] = endpoints
		if status, reply := p.asks("POST", "agents", p.attest(keyOf(t, "agent "+strconv.Itoa(i)), statement)); status != http.StatusOK {
			t.Fatalf("got %d %v; want %v", status, reply, http.StatusOK)
		}
	}
	search := `{"text": "` + string(protocol.UIM().Digest) + `", "limit": LIMIT}`
	for limit, want := range map[string]int{"20": http.StatusOK, "100": http.StatusServiceUnavailable} {
		if status, _ := p.asks("POST", "search", strings.Replace(search, "LIMIT", limit, 1)); status != want {
			t.Errorf("a search for %s: %d, want %d", limit, status, want)
		}
	}
}
