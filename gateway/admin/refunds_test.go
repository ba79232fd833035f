package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

func TestRefund(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	for range 2 {
		if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusOK {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
	}
	calls := items[calls.Execution](g, "/usage/executions")
	path := "/usage/executions/" + calls[0].ID + "/refund"
	part := map[string]any{"amount": "0.10 EUR", "name": "ticket 7", "reason": "late"}
	made := ask[billing.Refund](g, "POST", path, part)
	if made.Number != "CN-000001" || made.Amount != "0.10" || made.Charge != "0.25" || made.Currency != "EUR" || made.Reason != "late" ||
		made.AgentID != "agent-1" || made.ExecutionID != calls[0].ID || made.Intent != calls[0].Intent || made.Repeated {
		t.Errorf("got %+v", made)
	}
	payload, err := evidence.ParseReceipt(made.Receipt)
	if err != nil || payload.Entry.Kind != evidence.KindTopUp || payload.Entry.Reference != made.Reference ||
		!strings.Contains(made.Reference, calls[0].ID) {
		t.Errorf("receipt %+v, %v", payload, err)
	}
	if again := ask[billing.Refund](g, "POST", path, part); !again.Repeated || again.Number != made.Number || again.Receipt != made.Receipt {
		t.Errorf("got %+v", again)
	}
	g.Refuses(g.do("POST", path, map[string]any{"amount": "0.16 EUR", "reason": "late"}), http.StatusConflict, "ALREADY_SETTLED")
	if rest := ask[billing.Refund](g, "POST", path, map[string]any{"reason": "wrong"}); rest.Amount != "0.15" || rest.Number != "CN-000002" {
		t.Errorf("got %+v", rest)
	}
	got := g.do("POST", path, map[string]any{"reason": "more", "name": "more"})
	if !strings.Contains(string(got.Body), "The whole charge was refunded") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if got := items[billing.Account](g, "/usage/accounts"); got[0].ToppedUp != "0.25" || got[0].Captured != "0.50" ||
		got[0].Balance != "-0.25" {
		t.Errorf("got %+v", got)
	}
	if got := items[billing.Refund](g, "/usage/refunds?limit=1&execution_id="+calls[0].ID); len(got) != 1 || got[0].Number != "CN-000002" {
		t.Errorf("got %+v", got)
	}
	if got := items[billing.Refund](g, "/usage/refunds?after=CN-000002"); len(got) != 1 || got[0].Name != "ticket 7" {
		t.Errorf("got %+v", got)
	}
	for _, by := range []string{"agent", "intent", "month"} {
		got := items[billing.Revenue](g, "/usage/revenue?by="+by)
		if len(got) != 1 || got[0].Calls != 2 || got[0].Captured != "0.50" || got[0].Refunded != "0.25" || got[0].Net != "0.25" ||
			got[0].Currency != "EUR" {
			t.Errorf("by %s: %+v", by, got)
		}
	}
}

func TestUnclearRefundsAreRefused(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Ordering)
	path := "/usage/executions/" + items[calls.Execution](g, "/usage/executions")[0].ID + "/refund"
	for name, body := range map[string]map[string]any{
		"no reason":             {"amount": "0.10 EUR"},
		"an empty reason":       {"reason": " "},
		"a reason of two lines": {"reason": "a\nb"},
		"no amount":             {"amount": "0 EUR", "reason": "x"},
		"a negative amount":     {"amount": "-1 EUR", "reason": "x"},
		"another currency":      {"amount": "0.10 USD", "reason": "x"},
		"no number":             {"amount": 1, "reason": "x"},
		"a long name":           {"name": strings.Repeat("x", 129), "reason": "x"},
		"an unknown member":     {"reason": "x", "agent": "agent-1"},
	} {
		if got := g.do("POST", path, body); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	g.Refuses(g.do("POST", "/usage/executions/none/refund", map[string]any{"reason": "x"}), http.StatusNotFound, "NO_SUCH_RECORD")
	g.Refuses(g.do("POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": "1 EUR", "reference": "refund:x:y"}),
		http.StatusBadRequest, "MALFORMED_REQUEST")
	if got := items[billing.Refund](g, "/usage/refunds"); len(got) != 0 {
		t.Errorf("refunded: %+v", got)
	}
	for _, query := range []string{"by=week", "after=x", "from=yesterday"} {
		if got := g.do("GET", "/usage/revenue?"+query, nil); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, got.Status, got.Body)
		}
	}
}
