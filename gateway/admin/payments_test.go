package admin_test

import (
	"net/http"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
)

func TestPayments(t *testing.T) {
	g := newAdminGate(t, "")
	g.Agreed("agent-1")
	pay := func(reference string, state store.PaymentState) {
		_, _, err := g.Store.Pay(t.Context(), store.Payment{
			Service: "default", Reference: reference, Rail: store.RailCard, Kind: store.PaymentTopUp, State: state,
			Amount: money.Amount{Nano: money.Unit, Currency: "EUR"},
		}, money.Amount{})
		g.Must(err)
	}
	pay("p-1", store.PaymentUnclaimed)
	pay("p-2", store.PaymentUnclaimed)
	if got := items[billing.Payment](g, "/usage/payments?state=unclaimed"); len(got) != 2 || got[0].Amount != "1.00" ||
		got[0].Currency != "EUR" {
		t.Fatalf("got %+v", got)
	}
	for _, tt := range []struct {
		body   map[string]any
		status int
		reason string
	}{
		{map[string]any{"reference": "p-1", "state": "credited"}, http.StatusBadRequest, "MALFORMED_REQUEST"},
		{map[string]any{"reference": "p-1", "state": "unknown"}, http.StatusBadRequest, "MALFORMED_REQUEST"},
		{map[string]any{"reference": "p-1", "state": "credited", "agent_id": "ghost"}, http.StatusNotFound, "NO_SUCH_RECORD"},
		{map[string]any{"reference": "p-9", "state": "credited", "agent_id": "agent-1"}, http.StatusNotFound, "NO_SUCH_RECORD"},
	} {
		g.Refuses(g.do("POST", "/usage/payments/resolve", tt.body), tt.status, tt.reason)
	}
	got := ask[billing.Payment](g, "POST", "/usage/payments/resolve", map[string]any{
		"reference": "p-1", "state": "credited",
		"agent_id": "agent-1",
	})
	if got.State != store.PaymentCredited || got.AgentID != "agent-1" {
		t.Errorf("got %+v", got)
	}
	if got := ask[billing.Payment](g, "POST", "/usage/payments/resolve", map[string]any{"reference": "p-2", "state": "failed"}); got.State !=
		store.PaymentFailed {
		t.Errorf("got %+v", got)
	}
	g.Refuses(g.do("POST", "/usage/payments/resolve", map[string]any{"reference": "p-2", "state": "credited", "agent_id": "agent-1"}),
		http.StatusConflict, "ALREADY_SETTLED")
	if accounts := items[billing.Account](g, "/usage/accounts"); len(accounts) != 1 || accounts[0].Balance != "1.00" {
		t.Errorf("got %+v", accounts)
	}
}
