package admin_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

func TestReplayAfterResolve(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	g.BreakOff()
	for _, key := range []string{"captured", "released"} {
		if got := g.Execute(a, gatetest.Ordering, "Idempotency-Key", key); got.Status != http.StatusBadGateway {
			t.Fatalf("got %d %s; want %v", got.Status, got.Body, http.StatusBadGateway)
		}
		g.Refuses(g.Execute(a, gatetest.Ordering, "Idempotency-Key", key), http.StatusConflict, "OUTCOME_UNKNOWN")
	}
	for _, e := range items[calls.Execution](g, "/usage/executions?state=unresolved") {
		ask[calls.Execution](g, "POST", "/usage/executions/"+e.ID+"/resolve", map[string]any{"state": e.IdempotencyKey})
	}
	calls := 0
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { calls++; _, _ = io.WriteString(w, `{"ok":true}`) }
	got := g.Execute(a, gatetest.Ordering, "Idempotency-Key", "captured")
	g.Refuses(got, http.StatusBadGateway, "RESPONSE_INVALID")
	if !strings.Contains(string(got.Body), `"outcome":"done"`) || strings.Contains(string(got.Body), "Nothing was charged") ||
		got.Header.Get("Idempotency-Replayed") != "true" || !strings.HasSuffix(got.Header.Get("UIM-Charge"), "; state=captured") || calls != 0 {
		t.Errorf("%v %s, %d calls", got.Header, got.Body, calls)
	}
	if got := g.Execute(a, gatetest.Ordering, "Idempotency-Key",
		"released"); got.Status != http.StatusOK || got.Header.Get("Idempotency-Replayed") != "" || calls != 1 {
		t.Errorf("%d %s, %d calls", got.Status, got.Body, calls)
	}
}

func TestTopUpsAndReversals(t *testing.T) {
	g := newAdminGate(t, "")
	g.Agreed("agent-1")
	body := map[string]any{"agent_id": "agent-1", "amount": "10 EUR", "reference": "payment 1"}
	for i := range 2 {
		if got := ask[billing.TopUpResult](g, "POST", "/usage/top-up", body); got.ToppedUp != "10.00" || got.Repeated != (i > 0) {
			t.Errorf("time %d: %+v; want ToppedUp %q and Repeated %v", i, got, "10.00", i > 0)
		}
	}
	g.Refuses(g.do("POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": "9 EUR", "reference": "payment 1"}),
		http.StatusConflict, "REFERENCE_USED")
	back := map[string]any{"agent_id": "agent-1", "amount": "4 EUR", "reverse": true}
	if got := ask[billing.TopUpResult](g, "POST", "/usage/top-up", back); got.Balance != "6.00" {
		t.Errorf("got %+v, want Balance %q", got, "6.00")
	}
	for _, bad := range []map[string]any{
		{"agent_id": "agent-1", "amount": "7 EUR", "reverse": true},
		{"agent_id": "agent-1", "amount": "1 EUR", "reverse": "yes"},
		{"agent_id": "agent-1", "amount": "1 EUR", "reference": "two\nlines"},
		{"agent_id": "agent-1", "amount": "1 EUR", "reference": strings.Repeat("x", 201)},
		{"agent_id": "agent-1", "amount": "1 EUR", "reference": 1},
	} {
		g.Refuses(g.do("POST", "/usage/top-up", bad), http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	entries := items[calls.Entry](g, "/usage/ledger")
	if len(entries) != 2 || entries[0].Amount != "-4.00" || entries[1].Reference != "payment 1" {
		t.Errorf("got %+v; want length 2, [0].Amount %q and [1].Reference %q", entries, "-4.00", "payment 1")
	}
}

func TestStatements(t *testing.T) {
	g := newAdminGate(t, "")
	a, b := g.Agreed("agent-1"), g.Agreed("agent-2")
	ask[billing.TopUpResult](g, "POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": "10 EUR"})
	g.Execute(a, gatetest.Ordering)
	g.Later(time.Hour / 2)
	from := g.Now()
	g.Execute(a, gatetest.Ordering)
	g.Execute(b, gatetest.Ordering)
	g.BreakOff()
	g.Execute(a, gatetest.Ordering)
	to := from.Add(time.Minute)
	query := "?from=" + from.Format(time.RFC3339) + "&to=" + to.Format(time.RFC3339)
	got := items[billing.Statement](g, "/usage/statements"+query+"&agent_id=agent-1")
	if len(got) != 1 {
		t.Fatalf("got %+v, want length 1", got)
	}
	s := got[0]
	if s.AgentID != "agent-1" || s.Currency != "EUR" || !s.From.Equal(from) || !s.To.Equal(to) || s.ToppedUp != "0.00" ||
		s.Opening != (billing.Position{ToppedUp: "10.00", Held: "0.00", Unresolved: "0.00", Captured: "0.25", Balance: "9.75"}) ||
		s.Closing != (billing.Position{ToppedUp: "10.00", Held: "0.25", Unresolved: "0.25", Captured: "0.50", Balance: "9.25"}) {
		t.Errorf("got %+v", s)
	}
	if len(s.Lines) != 1 || s.Lines[0].Intent != gatetest.Ordering || s.Lines[0].Held != (billing.Charges{Calls: 2, Amount: "0.50"}) ||
		s.Lines[0].Captured != (billing.Charges{Calls: 1, Amount: "0.25"}) || s.Lines[0].Unresolved.Calls != 1 {
		t.Errorf("got %+v", s.Lines)
	}
	p := ask[api.Page[billing.Statement]](g, "GET", "/usage/statements?limit=1", nil)
	q := ask[api.Page[billing.Statement]](g, "GET", "/usage/statements?limit=1&after="+strings.ReplaceAll(p.Next, " ", "%20"), nil)
	if len(p.Items) != 1 || len(q.Items) != 1 || p.Items[0].AgentID != "agent-1" || q.Items[0].AgentID != "agent-2" ||
		!q.Items[0].From.IsZero() {
		t.Errorf("got %+v, %+v", p, q)
	}
	g.Later(401 * 24 * time.Hour)
	_, err := g.Store.Purge(t.Context())
	g.Must(err)
	g.Refuses(g.do("GET", "/usage/statements"+query, nil), http.StatusUnprocessableEntity, "PERIOD_FORGOTTEN")
	if got := items[billing.Statement](g, "/usage/statements?agent_id=agent-1"); len(got) != 1 || got[0].Opening.Captured != "0.50" ||
		got[0].From.IsZero() {
		t.Errorf("got %+v", got)
	}
}
