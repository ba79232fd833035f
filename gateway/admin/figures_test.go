package admin_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/internal/limit"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

const smallCredit = "billing: {credit: 1.00 EUR, newcomers: 1.00 EUR}\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, " +
	gatetest.Unproved + "}\n"

// A figure that cannot be read is null, never 0.
func TestStatusOfAStoreThatCannotBeRead(t *testing.T) {
	g := newAdminGate(t, smallCredit)
	if s := ask[status.Status](g, "GET", "/status", nil).Services[0]; s.WaitingAgents == nil || *s.WaitingAgents != 0 ||
		s.Unresolved == nil || len(s.Unread) != 0 || s.Newcomers == nil {
		t.Fatalf("got %+v; want figures", s)
	}
	g.Must(g.Store.Close())
	body := g.do("GET", "/status", nil).Body
	for _, want := range []string{`"waiting_agents":null`, `"unresolved_charges":null`, `"unread":[`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
	s := ask[status.Status](g, "GET", "/status", nil).Services[0]
	if want := []string{"waiting_agents", "unresolved_charges", "newcomers_pool"}; !slices.Equal(s.Unread, want) || s.Newcomers != nil {
		t.Errorf("got %+v; want Unread %v", s, want)
	}
}

func TestStatusShowsWhoUsedTheCommonCredit(t *testing.T) {
	g := newAdminGate(t, smallCredit)
	if n := ask[status.Status](g, "GET", "/status", nil).Services[0].Newcomers; n == nil || n.Left != "1.00 EUR" || len(n.Users) != 0 {
		t.Fatalf("got %+v; want the whole credit left", n)
	}
	for id, calls := range map[string]int{"agent-1": 1, "agent-2": 2} {
		a := g.Agreed(id)
		for range calls {
			if got := g.Execute(a, gatetest.Ordering); got.Status != 200 {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
		}
	}
	n := ask[status.Status](g, "GET", "/status", nil).Services[0].Newcomers
	if want := []status.PoolAccount{{AgentID: "agent-2", Owed: "0.50 EUR"}, {AgentID: "agent-1", Owed: "0.25 EUR"}}; n == nil ||
		n.Left != "0.25 EUR" || n.Owed != "0.75 EUR" || !slices.Equal(n.Users, want) {
		t.Errorf("got %+v; want 0.25 EUR left, and users %+v", n, want)
	}
}

func TestStatusShowsHeldLimits(t *testing.T) {
	g := newAdminGate(t, "")
	if s := ask[status.Status](g, "GET", "/status", nil); s.HeldLimits != nil {
		t.Errorf("got %+v; want none", s.HeldLimits)
	}
	g.Must(g.Store.MarkRestored(g.Context(), store.RestoredLimits{Mode: store.RestoreUsed, Allowance: 20}))
	at := g.Now()
	g.Later(2 * time.Hour)
	held := ask[status.Status](g, "GET", "/status", nil).HeldLimits
	if held == nil || held.Restored == nil || held.Clock != nil || held.Restored.Limits != store.RestoreUsed || held.Restored.Allowance != 20 {
		t.Fatalf("got %+v", held)
	}
	if p := held.Restored.Periods; len(p) != 4 || p[0].Period != limit.Day || !p[0].Until.Equal(limit.Day.Frees(limit.Day.Slot(at))) {
		t.Errorf("got %+v; want day, week, month and year", p)
	}
	g.Must(g.Store.MarkRestored(g.Context(), store.RestoredLimits{Mode: store.RestoreFresh}))
	if s := ask[status.Status](g, "GET", "/status", nil); s.HeldLimits != nil {
		t.Errorf("after --limits fresh: %+v; want none", s.HeldLimits)
	}
}
