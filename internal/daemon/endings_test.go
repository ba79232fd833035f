package daemon_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/daemon"
)

// retired returns agents.json with one intent retired or, if end is not zero, with a retire_after.
func retired(title string, end time.Time) string {
	mark := `"retired": true`
	if !end.IsZero() {
		mark = `"retire_after": "` + end.UTC().Format(time.RFC3339) + `"`
	}
	return strings.Replace(testAgents, `"intent_name": "`+title+`",`, `"intent_name": "`+title+`", `+mark+`,`, 1)
}

func (g *gate) reloads(force bool) answer {
	g.t.Helper()
	return g.adminDo(http.MethodPost, "/admin/v1/reload", map[string]any{"force": force})
}

// A reload that ends an intent that agents called is refused, unless it is forced or announced. Intents without calls may end.
func TestReloadKeepsIntentsThatAgentsCall(t *testing.T) {
	t.Parallel()
	running := &clock{now: time.Now()}
	g := startGate(t, setup{now: running.Now})
	a := g.newAgent("agent-1").agree()
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK {
		t.Fatalf("a call: %d %s, want %d", got.status, got.body, http.StatusOK)
	}
	g.write("agents.json", retired("ProductDetails", time.Time{}))
	if got := g.reloads(false); got.status != http.StatusOK {
		t.Errorf("an intent without calls ends: %d %s, want %d", got.status, got.body, http.StatusOK)
	}
	g.write("agents.json", retired("SearchProducts", time.Time{}))
	got := g.reloads(false)
	if got.reason(t) != "CONFIG_REFUSED" || !strings.Contains(string(got.body), search+" (called at ") ||
		!strings.Contains(string(got.body), "it is retired") {
		t.Errorf("an intent with a call ends: %d %s, want CONFIG_REFUSED that names it", got.status, got.body)
	}
	cfg, _ := g.load()
	loaded, problems := service.Load(t.Context(), cfg, running.Now)
	if loaded == nil {
		t.Fatal(problems)
	}
	keeper := daemon.Keeper{Config: cfg, Now: running.Now}
	if found := keeper.CheckEndings(t.Context(), loaded); !found.Failed() || !strings.Contains(found[0].Message, search) {
		t.Errorf("check: %v, want an error that names %s", found, search)
	}
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK {
		t.Errorf("after the refused reload: %d %s, want %d", got.status, got.body, http.StatusOK)
	}
	end := running.Now().Add(10 * time.Minute)
	g.write("agents.json", retired("SearchProducts", end))
	if got := g.reloads(false); got.status != http.StatusOK {
		t.Errorf("an announced end: %d %s, want %d", got.status, got.body, http.StatusOK)
	}
	running.move(11 * time.Minute)
	if got := g.reloads(false); got.status != http.StatusOK {
		t.Errorf("after the announced end: %d %s, want %d", got.status, got.body, http.StatusOK)
	}
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.reason(t) != "INTENT_DEPRECATED" {
		t.Errorf("a call after the announced end: %d %s, want INTENT_DEPRECATED", got.status, got.body)
	}
	running.move(8 * 24 * time.Hour)
	g.write("agents.json", testAgents)
	if got := g.reloads(false); got.status != http.StatusOK {
		t.Fatalf("the first file again: %d %s, want %d", got.status, got.body, http.StatusOK)
	}
	g.write("agents.json", retired("SearchProducts", time.Time{}))
	if got := g.reloads(false); got.status != http.StatusOK {
		t.Errorf("an intent without calls in the last week ends: %d %s, want %d", got.status, got.body, http.StatusOK)
	}
}

// A reload with which agents could call nothing is refused, unless it is forced. Then it needs no force again.
func TestReloadKeepsSomethingCallable(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	void := testPolicy[:strings.Index(testPolicy, `"permission"`)] +
		`"permission": [{"target": "shop.example:old-search:v1", "action": "execute"}]}`
	g.write("policy.json", void)
	if got := g.reloads(false); got.reason(t) != "CONFIG_REFUSED" || !strings.Contains(string(got.body), "agents could call no intent") {
		t.Errorf("a policy that permits nothing: %d %s, want CONFIG_REFUSED", got.status, got.body)
	}
	if got := g.do(http.MethodGet, "/api/policy", nil, nil); string(got.body) != testPolicy {
		t.Errorf("the policy after the refusal: %s, want the first one", got.body)
	}
	for _, force := range []bool{true, false} {
		if got := g.reloads(force); got.status != http.StatusOK {
			t.Errorf("with force %v: %d %s, want %d", force, got.status, got.body, http.StatusOK)
		}
	}
	if got := g.adminDo(http.MethodPost, "/admin/v1/reload", map[string]any{"force": "yes"}); got.status != http.StatusBadRequest {
		t.Errorf("force that is not a boolean: %d %s, want %d", got.status, got.body, http.StatusBadRequest)
	}
}

// A policy that is announced for a date is judged when it is announced.
func TestReloadJudgesAnnouncedPolicy(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	void := testPolicy[:strings.Index(testPolicy, `"permission"`)] +
		`"permission": [{"target": "shop.example:old-search:v1", "action": "execute"}]}`
	g.write("next.json", void)
	announced := []string{"policy_file: policy.json", "policies: [{file: policy.json}, {file: next.json, from: 2099-01-01T00:00:00Z}]"}
	if got := g.reconfigure(adminToken, announced...); got.reason(t) != "CONFIG_REFUSED" ||
		!strings.Contains(string(got.body), "from 2099-01-01T00:00:00Z on") {
		t.Errorf("a policy that will permit nothing: %d %s, want CONFIG_REFUSED", got.status, got.body)
	}
	for _, force := range []bool{true, false} {
		if got := g.reloads(force); got.status != http.StatusOK {
			t.Errorf("with force %v: %d %s, want %d", force, got.status, got.body, http.StatusOK)
		}
	}
}

// Uses outlive the process: they are written when it stops.
func TestUsesOutliveTheProcess(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	a.execute(search, map[string]any{"query": "lamp"}, nil)
	g.stop()
	next := startGate(t, setup{dir: g.dir})
	next.write("agents.json", retired("SearchProducts", time.Time{}))
	if got := next.reloads(false); got.reason(t) != "CONFIG_REFUSED" {
		t.Errorf("an intent with a call before the restart ends: %d %s, want CONFIG_REFUSED", got.status, got.body)
	}
}

// When retire_after passes, a reload removes the intent from searches without a request of the operator.
func TestReloadAtRetireAfter(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{agents: retired("SearchProducts", time.Now().Add(2*time.Second))})
	g.awaitLog(1, "configuration applied")
	got := g.do(http.MethodGet, "/api/intents/search?query=search", nil, nil)
	if strings.Contains(string(got.body), search) {
		t.Errorf("a search finds the intent after its end: %s", got.body)
	}
}
