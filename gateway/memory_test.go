package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// within sets the memory budget of a gate.
func within(bytes int64) func(*gatetest.Gate) {
	return func(g *gatetest.Gate) {
		g.Memory = membudget.NewBudget(bytes, func() { g.Metrics.Shed(reason.ShedMemory) })
	}
}

func shed(g *gatetest.Gate, cause reason.Cause) int {
	g.Helper()
	families, err := g.Metrics.Registry().Gather()
	g.Must(err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "uimgate_shed_total" && m.GetLabel()[0].GetValue() == string(cause) {
				return int(m.GetCounter().GetValue())
			}
		}
	}
	return 0
}

func TestBodyLimitsOfPATEndpoints(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	for path, most := range map[string]int{
		"/api/pat/issue": 64 << 10, "/api/pat/renew": 64 << 10, "/api/pat/revoke": 32 << 10, "/api/pat/introspect": 32 << 10,
	} {
		for n, status := range map[int]int{most: http.StatusBadRequest, most + 1: http.StatusRequestEntityTooLarge} {
			body := `{"token":[` + strings.Repeat("{},", n/3-10) + `{}]}`
			body += strings.Repeat(" ", n-len(body))
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+path, strings.NewReader(body))
			g.Must(err)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+a.Token)
			if answer := g.Send(r); answer.Status != status {
				t.Errorf("%s of %d bytes: %d %s, want %d", path, n, answer.Status, answer.Body, status)
			}
		}
	}
}

// Unauthenticated requests get at most half of the memory, and a body is refused before it is parsed.
func TestUnauthenticatedBodiesAreShed(t *testing.T) {
	g := gatetest.New(t, "", within(1<<20))
	a := g.Agreed("agent-1")
	nested := map[string]any{"token": make([]struct{}, 5000)}
	refused := g.Call("/api/pat/revoke", "", nested)
	g.Refuses(refused, http.StatusServiceUnavailable, "OVERLOADED")
	if refused.Header.Get("Retry-After") == "" || shed(g, reason.ShedMemory) != 1 {
		t.Errorf("Retry-After %q, %d counted, want both", refused.Header.Get("Retry-After"), shed(g, reason.ShedMemory))
	}
	wide := map[string]any{"intent_uid": gatetest.Searching, "parameters": map[string]any{"query": "lamp", "more": make([]int, 2000)}}
	g.Refuses(g.Call("/api/intents/execute", a.Token, wide), http.StatusBadRequest, "UNKNOWN_PARAMETER")
	if answer := g.Execute(a, gatetest.Searching); answer.Status != http.StatusOK {
		t.Errorf("a call: %d %s; want %v", answer.Status, answer.Body, http.StatusOK)
	}
}

// An approved agent is served even if calls of unapproved agents use all the memory that they may use.
func TestUnapprovedAgentsLeaveMemory(t *testing.T) {
	g := gatetest.New(t, "", within(256<<10))
	arrived, release := make(chan struct{}), make(chan struct{})
	long := strings.Repeat("x", 4000)
	g.Upstream = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("UIM-Agent-Id") != "approved" {
			arrived <- struct{}{}
			<-release
		}
		_, _ = io.WriteString(w, `{"ok":true}`)
	}
	approved := g.Agreed("approved")
	g.Must(g.Store.SetAgent(t.Context(), pat.AgentChange{Service: "default", ID: "approved", Status: pat.AgentActive, Approved: true}))
	refused, held := make(chan gatetest.Answer, 1), 0
	var calls sync.WaitGroup
	for full := false; !full; {
		stranger := g.Agreed(fmt.Sprintf("stranger-%d", held))
		calls.Go(func() {
			if answer := g.Call("/api/intents/execute", stranger.Token, callOf(long)); answer.Status != http.StatusOK {
				refused <- answer
			}
		})
		select {
		case <-arrived:
			held++
		case answer := <-refused:
			g.Refuses(answer, http.StatusServiceUnavailable, "OVERLOADED")
			full = true
		}
	}
	if answer := g.Call("/api/intents/execute", approved.Token, callOf(long)); answer.Status != http.StatusOK {
		t.Errorf("an approved agent, during %d calls of others: %d %.300s; want %v", held, answer.Status, answer.Body, http.StatusOK)
	}
	close(release)
	calls.Wait()
}

func callOf(query string) map[string]any {
	return map[string]any{"intent_uid": gatetest.Searching, "parameters": map[string]any{"query": query}}
}

// Responses of the service wait for memory, because the call cannot be repeated. A response that exceeds the whole budget is refused.
func TestResponsesWaitForMemory(t *testing.T) {
	g := gatetest.New(t, "", within(4<<20))
	a := g.Agreed("agent-1")
	const many = 12
	size := 80_000
	// The service responds when all calls have arrived, because a call that arrives while responses wait for memory may be refused.
	var arrived sync.WaitGroup
	arrived.Add(many)
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		if size == 80_000 {
			arrived.Done()
			arrived.Wait()
		}
		_, _ = io.WriteString(w, `{"ok":[`+strings.Repeat("{},", size)+`{}]}`)
	}
	var calls sync.WaitGroup
	for n := range many {
		calls.Go(func() {
			if answer := g.Execute(a, gatetest.Searching); answer.Status != http.StatusOK {
				t.Errorf("call %d of many: %d %.300s; want %v", n, answer.Status, answer.Body, http.StatusOK)
			}
		})
	}
	calls.Wait()
	size = 600_000
	refused := g.Execute(a, gatetest.Ordering)
	g.Refuses(refused, http.StatusBadGateway, "RESPONSE_INVALID")
	if !strings.Contains(string(refused.Body), `"outcome":"done"`) || shed(g, reason.ShedMemory) != 1 {
		t.Errorf("%.300s, %d counted", refused.Body, shed(g, reason.ShedMemory))
	}
	size = 10
	if answer := g.Execute(a, gatetest.Searching); answer.Status != http.StatusOK {
		t.Errorf("the call after: %d %.300s; want %v", answer.Status, answer.Body, http.StatusOK)
	}
}

func TestShedRequestsOfAddressAreCounted(t *testing.T) {
	g := gatetest.New(t, `server: {per_address: 1/second}
services:
- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}
`)
	refused := 0
	for range 5 {
		if g.Get("/agents.json").Status == http.StatusTooManyRequests {
			refused++
		}
	}
	if n := shed(g, reason.ShedRequestsAddress); refused == 0 || n != refused {
		t.Errorf("%d counted of %d", n, refused)
	}
}
