package admin_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

func TestCallsAreSearched(t *testing.T) {
	g := newAdminGate(t, whySettings)
	g.Write("policy.json", whyPolicy)
	g.Reload()
	a, b := g.Agreed("agent-1"), g.Agreed("agent-2")
	const secret = "parameter-canary"
	g.search(a, "denied", secret)
	g.search(a, "permitted", "research")
	g.search(b, "denied-too", secret)
	g.Execute(a, gatetest.Ordering, "UIM-Request-ID", "paid")
	g.Call("/api/nothing", "", map[string]any{}, "UIM-Request-ID", "lost")
	for query, want := range map[string][]string{
		"agent_id=agent-1&decision=deny":                              {"denied"},
		"reason=POLICY_NOT_APPLICABLE":                                {"denied-too", "denied"},
		"reason=POLICY_NOT_APPLICABLE&service=default":                {"denied-too", "denied"},
		"intent=" + gatetest.Ordering:                                 {"paid"},
		"outcome=done&agent_id=agent-1":                               {"paid", "permitted"},
		"reason=NO_SUCH_PATH":                                         {"lost"},
		"agent_id=nobody":                                             {},
		"to=2000-01-01T00:00:00Z":                                     {},
		"intent=" + gatetest.Searching + "&from=2000-01-01T00:00:00Z": {"denied-too", "permitted", "denied"},
	} {
		got := []string{}
		for after := ""; ; {
			page := ask[api.Page[calls.Call]](g, "GET", "/calls?limit=2&"+query+"&after="+after, nil)
			for _, c := range page.Items {
				got = append(got, c.RequestID)
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	paid := items[calls.Call](g, "/calls?intent="+gatetest.Ordering)[0]
	if paid.Charge != "0.25 EUR" || paid.ChargeState != "captured" || paid.Status != http.StatusOK || paid.ExecutionID == "" ||
		paid.At.IsZero() ||
		paid.Outcome != "done" || paid.Process != "test:1" || paid.AgentID != "agent-1" || paid.Rule == "" {
		t.Errorf("got %+v", paid)
	}
	if body := string(g.do("GET", "/calls", nil).Body); strings.Contains(body, secret) || strings.Contains(body, a.Token) {
		t.Errorf("the list reveals a parameter or a token: %s", body)
	}
	for _, query := range []string{
		"decision=maybe", "outcome=good", "after=x", "after=1.2", "after=-.1.p", "from=yesterday", "limit=1000000000", "agent=agent-1",
	} {
		g.Refuses(g.do("GET", "/calls?"+query, nil), http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	g.Refuses(g.do("GET", "/calls?service=nowhere", nil), http.StatusNotFound, "UNKNOWN_SERVICE")
}

func TestAgentsAreSearched(t *testing.T) {
	g := newAdminGate(t, "")
	g.Agreed("agent-1")
	g.Agreed("other")
	ask[agreements.Agent](g, "POST", "/agents/other/name", map[string]any{"name": "Agency Ltd"})
	for query, want := range map[string][]string{"age": {"agent-1", "other"}, "agency": {"other"}, "agent-": {"agent-1"}, "gent": {}, "%25": {}} {
		got := names(items[agreements.Agent](g, "/agents?search="+query), func(a agreements.Agent) string { return string(a.AgentID) })
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}
