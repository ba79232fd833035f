package admin_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/record"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// whyPolicy permits searching for research only, at most once an hour, and ordering for a price.
const whyPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"uid": "https://shop.example/rules/search", "target": "shop.example:search:v1", "action": "execute",
     "constraint": [{"leftOperand": "purpose", "operator": "eq", "rightOperand": "research"},
       {"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 1, "unit": "hour"}]},
    {"target": "shop.example:order:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}
  ]
}`

const whySettings = `services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: UPSTREAM}
  ` + gatetest.Unproved + `
  facts: {purpose: [{parameter: /query}]}
billing: {credit: 10 EUR, newcomers: 0.30 EUR}
`

// why returns the explanations of the requests with an id.
func (g *adminGate) why(id string) []calls.Why {
	g.Helper()
	return ask[api.Page[calls.Why]](g, "GET", "/requests/"+id, nil).Items
}

// search searches with a query, under a request id.
func (g *adminGate) search(a *gatetest.Agent, id, query string) gatetest.Answer {
	g.Helper()
	return g.Call("/api/intents/execute", a.Token,
		map[string]any{"intent_uid": gatetest.Searching, "parameters": map[string]any{"query": query}}, "UIM-Request-ID", id)
}

func TestWhyExplainsDecisionsOfThePolicy(t *testing.T) {
	g := newAdminGate(t, whySettings)
	g.Write("policy.json", whyPolicy)
	g.Reload()
	a := g.Agreed("agent-1")
	const secret = "parameter-canary"
	g.Refuses(g.search(a, "denied", secret), http.StatusForbidden, "POLICY_NOT_APPLICABLE")
	if got := g.search(a, "permitted", "research"); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	g.Refuses(g.search(a, "exhausted", "research"), http.StatusTooManyRequests, "RATE_LIMIT_EXCEEDED")

	denied := g.why("denied")[0]
	if denied.Decision != "deny" || denied.Reason != "POLICY_NOT_APPLICABLE" || denied.Status != http.StatusForbidden ||
		denied.Rule != "https://shop.example/rules/search" || denied.Agent != "agent-1" || denied.Intent != gatetest.Searching ||
		denied.Process != "test:1" || denied.Agreement == "" || denied.Digest == "" ||
		!slices.Equal(denied.Wanted, []string{`the closest permission requires purpose eq "research"`}) ||
		!slices.Equal(denied.FromParameters, []string{"purpose"}) {
		t.Errorf("got %+v", denied)
	}
	if last := denied.Steps[len(denied.Steps)-1].Name; last != "decide" {
		t.Errorf("the last step is %s, want decide", last)
	}
	permitted := g.why("permitted")[0]
	if permitted.Decision != "permit" || permitted.Outcome != "done" || permitted.UpstreamStatus != http.StatusOK ||
		!slices.ContainsFunc(permitted.Limits, func(l record.LimitState) bool { return l.Limit == "1/hour" && l.Left == 0 }) {
		t.Errorf("got %+v", permitted)
	}
	exhausted := g.why("exhausted")[0]
	if exhausted.Rule != "https://shop.example/rules/search" || exhausted.Limits[0].Left != 0 || exhausted.RetryAfter <= 0 {
		t.Errorf("got %+v", exhausted)
	}
	if body := string(g.do("GET", "/requests/denied", nil).Body); strings.Contains(body, secret) || strings.Contains(body, a.Token) {
		t.Errorf("the explanation reveals a parameter or a token: %s", body)
	}
}

func TestWhyFindsRefusalsBeforeAndAfterTheDecision(t *testing.T) {
	g := newAdminGate(t, whySettings)
	a := g.Agreed("agent-1")
	g.Refuses(g.Call("/api/intents/execute", "x.y.z", map[string]any{}, "UIM-Request-ID", "bad-pat"), http.StatusUnauthorized, "INVALID_TOKEN")
	g.Refuses(g.Call("/api/pat/issue", "", map[string]any{}, "UIM-Request-ID", "bad-agreement"), http.StatusBadRequest, "MALFORMED_REQUEST")
	g.Refuses(g.Call("/api/nothing", "", map[string]any{}, "UIM-Request-ID", "lost"), http.StatusNotFound, "NO_SUCH_PATH")
	g.Refuses(
		g.Call("/api/intents/execute", a.Token, map[string]any{"intent_uid": gatetest.Searching, "parameters": map[string]any{"query": 7}},
			"UIM-Request-ID", "bad-parameter"),
		http.StatusBadRequest,
		"INVALID_PARAMETER",
	)
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"message": "no lamp for upstream-canary"}`))
	}
	g.Refuses(g.Execute(a, gatetest.Ordering, "UIM-Request-ID", "rejected"), http.StatusConflict, "UPSTREAM_REJECTED")

	for id, want := range map[string]struct {
		reason, request, last string
		status                int
	}{
		"bad-pat":       {"INVALID_TOKEN", "", "authenticate", http.StatusUnauthorized},
		"bad-agreement": {"MALFORMED_REQUEST", "POST /api/pat/issue", "", http.StatusBadRequest},
		"lost":          {"NO_SUCH_PATH", "POST (no such path)", "", http.StatusNotFound},
		"bad-parameter": {"INVALID_PARAMETER", "", "validate", http.StatusBadRequest},
		"rejected":      {"UPSTREAM_REJECTED", "", "settle", http.StatusConflict},
	} {
		got := g.why(id)
		if len(got) != 1 || got[0].Decision == "" || string(got[0].Reason) != want.reason || got[0].Request != want.request ||
			got[0].Status != want.status || got[0].Message == "" {
			t.Errorf("%s: got %+v, want %+v", id, got, want)
			continue
		}
		last := ""
		if n := len(got[0].Steps); n > 0 {
			last = got[0].Steps[n-1].Name
		}
		if last != want.last {
			t.Errorf("%s: the last step is %q, want %q", id, last, want.last)
		}
	}
	rejected := g.why("rejected")[0]
	if rejected.Charge != "0.25 EUR" || rejected.ChargeState != "released" || rejected.Execution == nil ||
		rejected.Execution.State != "released" || rejected.UpstreamStatus != http.StatusConflict {
		t.Errorf("got %+v", rejected)
	}
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ok":true}`)) }
	if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	g.Refuses(g.Execute(a, gatetest.Ordering, "UIM-Request-ID", "poor"), http.StatusPaymentRequired, "POLICY_REQUIRES_PAYMENT")
	if got := g.why("poor")[0]; !slices.Equal(got.Wanted, []string{"credit or a balance of 0.25 EUR"}) {
		t.Errorf("got %+v", got)
	}
	if body := string(g.do("GET", "/requests/rejected", nil).Body); strings.Contains(body, "canary") {
		t.Errorf("the explanation repeats text of the service: %s", body)
	}
	g.Refuses(g.do("GET", "/requests/unknown", nil), http.StatusNotFound, "NO_SUCH_RECORD")
}

func TestWhyForgetsAndIsBounded(t *testing.T) {
	g := newAdminGate(t, whySettings+"audit: {index: {retain: 1h, limit: 8/minute}}\n")
	a, b := g.Agreed("agent-1"), g.Agreed("agent-2") // two records: half of the permitted ones
	for range 5 {
		g.Call("/api/intents/execute", "x.y.z", map[string]any{}, "UIM-Request-ID", "stranger")
		g.Call("/api/intents/execute", a.Token, map[string]any{}, "UIM-Request-ID", "known")
		g.Execute(b, gatetest.Searching, "UIM-Request-ID", "permitted")
	}
	for id, want := range map[string]int{"stranger": 2, "known": 1, "permitted": 1} {
		if got := len(g.why(id)); got != want {
			t.Errorf("%s: %d records, want %d", id, got, want)
		}
	}
	g.Pass(time.Minute)
	g.Call("/api/intents/execute", "x.y.z", map[string]any{}, "UIM-Request-ID", "later")
	if got := len(g.why("later")); got != 1 {
		t.Errorf("%d records in the next minute, want 1", got)
	}
	g.Pass(time.Hour)
	g.Refuses(g.do("GET", "/requests/later", nil), http.StatusNotFound, "NO_SUCH_RECORD")
}

// A lateIndex is a store to which another process writes its records after they were first read.
type lateIndex struct {
	admin.Store

	write func()
}

func (s *lateIndex) RequestsByID(ctx context.Context, id string) ([]store.IndexedRequest, error) {
	list, err := s.Store.RequestsByID(ctx, id)
	s.write()
	return list, err
}

// Why finds a request of another process that writes its record only after Why has looked for it.
func TestWhyWaitsForRecordsOfOtherProcesses(t *testing.T) {
	g := newAdminGate(t, whySettings)
	g.Call("/api/nothing", "", map[string]any{}, "UIM-Request-ID", "late")
	settings := g.settings
	settings.Index = nil // the other process has it
	settings.Store = &lateIndex{g.settings.Store, func() { g.Must(g.Index.Flush(g.Context())) }}
	page, err := admin.New(settings).Calls.Why(t.Context(), calls.RequestRecord{ID: "late"})
	if err != nil || len(page.Items) != 1 || page.Items[0].Reason != "NO_SUCH_PATH" {
		t.Errorf("got %+v, %v; want one record with reason NO_SUCH_PATH", page.Items, err)
	}
}

// Why names the agent of a PAT or an agreement that was refused because the agent is blocked.
func TestWhyNamesBlockedAgents(t *testing.T) {
	g := newAdminGate(t, whySettings)
	a := g.Agreed("agent-1")
	g.Must(g.Store.SetAgent(t.Context(), pat.AgentChange{Service: "default", ID: "agent-1", Status: pat.AgentBlocked}))
	g.Must(g.View.Refresh(t.Context()))
	g.Refuses(g.search(a, "call", "research"), http.StatusForbidden, "AGENT_BLOCKED")
	g.Refuses(g.Call("/api/pat/renew", a.Token, map[string]any{}, "UIM-Request-ID", "renewal"), http.StatusForbidden, "AGENT_BLOCKED")
	g.Refuses(g.Call("/api/pat/issue", "", g.Agreement(a), "UIM-Request-ID", "agreement"), http.StatusForbidden, "AGENT_BLOCKED")
	for _, id := range []string{"call", "renewal", "agreement"} {
		if got := g.why(id); len(got) != 1 || got[0].Agent != "agent-1" || (got[0].Token == "") != (id == "agreement") {
			t.Errorf("%s: got %+v; want agent-1, and its PAT if it was sent", id, got)
		}
	}
}
