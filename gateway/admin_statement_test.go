package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway"
)

func TestTheOperatorsWordIsToldUnderTheKey(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.agreed("agent-1")
	g.breakOff()
	for _, key := range []string{"captured", "released"} {
		if got := g.execute(a, ordering, "Idempotency-Key", key); got.status != http.StatusBadGateway {
			t.Fatalf("%d %s", got.status, got.body)
		}
		g.execute(a, ordering, "Idempotency-Key", key).refuses(g, http.StatusConflict, "OUTCOME_UNKNOWN")
	}
	for _, e := range items[gateway.AdminExecution](g, "/usage/executions?state=unresolved") {
		ask[gateway.AdminExecution](g, "POST", "/usage/executions/"+e.ID+"/resolve", map[string]any{"state": e.IdempotencyKey})
	}
	calls := 0
	g.upstream = func(w http.ResponseWriter, _ *http.Request) { calls++; _, _ = io.WriteString(w, `{"ok":true}`) }
	got := g.execute(a, ordering, "Idempotency-Key", "captured")
	got.refuses(g, http.StatusBadGateway, "RESPONSE_INVALID")
	if !strings.Contains(string(got.body), `"outcome":"done"`) || strings.Contains(string(got.body), "Nothing was charged") ||
		got.header.Get("Idempotency-Replayed") != "true" || !strings.HasSuffix(got.header.Get("UIM-Charge"), "; state=captured") || calls != 0 {
		t.Errorf("%v %s, %d calls", got.header, got.body, calls)
	}
	if got := g.execute(a, ordering, "Idempotency-Key", "released"); got.status != http.StatusOK || got.header.Get("Idempotency-Replayed") != "" || calls != 1 {
		t.Errorf("%d %s, %d calls", got.status, got.body, calls)
	}
}

func TestTopUpsAreMadeOnceAndTakenBack(t *testing.T) {
	g := newAdminGate(t, "")
	g.agreed("agent-1")
	body := map[string]any{"agent_id": "agent-1", "amount": "10 EUR", "reference": "payment 1"}
	for i := range 2 {
		if got := ask[gateway.AdminTopUp](g, "POST", "/usage/top-up", body); got.ToppedUp != "10.00" || got.Repeated != (i > 0) {
			t.Errorf("time %d: %+v", i, got)
		}
	}
	g.do("POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": "9 EUR", "reference": "payment 1"}).refuses(g, http.StatusConflict, "REFERENCE_USED")
	back := map[string]any{"agent_id": "agent-1", "amount": "4 EUR", "reverse": true}
	if got := ask[gateway.AdminTopUp](g, "POST", "/usage/top-up", back); got.Balance != "6.00" {
		t.Errorf("%+v", got)
	}
	for _, bad := range []map[string]any{
		{"agent_id": "agent-1", "amount": "7 EUR", "reverse": true},
		{"agent_id": "agent-1", "amount": "1 EUR", "reverse": "yes"},
		{"agent_id": "agent-1", "amount": "1 EUR", "reference": "two\nlines"},
		{"agent_id": "agent-1", "amount": "1 EUR", "reference": strings.Repeat("x", 201)},
		{"agent_id": "agent-1", "amount": "1 EUR", "reference": 1},
	} {
		g.do("POST", "/usage/top-up", bad).refuses(g, http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	entries := items[gateway.AdminEntry](g, "/usage/ledger")
	if len(entries) != 2 || entries[0].Amount != "-4.00" || entries[1].Reference != "payment 1" {
		t.Errorf("%+v", entries)
	}
}

func TestStatementsSumUpAPeriod(t *testing.T) {
	g := newAdminGate(t, "")
	a, b := g.agreed("agent-1"), g.agreed("agent-2")
	ask[gateway.AdminTopUp](g, "POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": "10 EUR"})
	g.execute(a, ordering)
	g.later(time.Hour / 2)
	from := g.now()
	g.execute(a, ordering)
	g.execute(b, ordering)
	g.breakOff()
	g.execute(a, ordering)
	to := from.Add(time.Minute)
	query := "?from=" + from.Format(time.RFC3339) + "&to=" + to.Format(time.RFC3339)
	got := items[gateway.AdminStatement](g, "/usage/statements"+query+"&agent_id=agent-1")
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	s := got[0]
	if s.AgentID != "agent-1" || s.Currency != "EUR" || !s.From.Equal(from) || !s.To.Equal(to) || s.ToppedUp != "0.00" ||
		s.Opening != (gateway.AdminPosition{ToppedUp: "10.00", Held: "0.00", Unresolved: "0.00", Captured: "0.25", Balance: "9.75"}) ||
		s.Closing != (gateway.AdminPosition{ToppedUp: "10.00", Held: "0.25", Unresolved: "0.25", Captured: "0.50", Balance: "9.25"}) {
		t.Errorf("%+v", s)
	}
	if len(s.Lines) != 1 || s.Lines[0].Intent != ordering || s.Lines[0].Held != (gateway.AdminCharges{Calls: 2, Amount: "0.50"}) ||
		s.Lines[0].Captured != (gateway.AdminCharges{Calls: 1, Amount: "0.25"}) || s.Lines[0].Unresolved.Calls != 1 {
		t.Errorf("%+v", s.Lines)
	}
	p := ask[gateway.AdminPage[gateway.AdminStatement]](g, "GET", "/usage/statements?limit=1", nil)
	q := ask[gateway.AdminPage[gateway.AdminStatement]](g, "GET", "/usage/statements?limit=1&after="+strings.ReplaceAll(p.Next, " ", "%20"), nil)
	if len(p.Items) != 1 || len(q.Items) != 1 || p.Items[0].AgentID != "agent-1" || q.Items[0].AgentID != "agent-2" || !q.Items[0].From.IsZero() {
		t.Errorf("%+v, %+v", p, q)
	}
	g.later(401 * 24 * time.Hour)
	_, err := g.store.Purge(t.Context())
	g.must(err)
	g.do("GET", "/usage/statements"+query, nil).refuses(g, http.StatusUnprocessableEntity, "PERIOD_FORGOTTEN")
	if got := items[gateway.AdminStatement](g, "/usage/statements?agent_id=agent-1"); len(got) != 1 || got[0].Opening.Captured != "0.50" || got[0].From.IsZero() {
		t.Errorf("%+v", got)
	}
}
