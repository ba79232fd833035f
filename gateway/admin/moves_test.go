package admin_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/gateway/admin/billing"
)

func TestMoveCredit(t *testing.T) {
	g := newAdminGate(t, "")
	g.Agreed("agent-1")
	g.Agreed("agent-2")
	ask[billing.TopUpResult](g, "POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": "10 EUR"})
	body := func(change map[string]any) map[string]any {
		all := map[string]any{"from": "agent-1", "to": "agent-2", "amount": "4 EUR", "reference": "m 1", "reason": "consented again"}
		maps.Copy(all, change)
		return all
	}
	made := ask[billing.MovedCredit](g, "POST", "/usage/move", body(nil))
	if made.Amount != "4.00" || made.Currency != "EUR" || made.From != "agent-1" || made.To != "agent-2" || made.Reason != "consented again" ||
		made.Repeated || made.At.IsZero() {
		t.Errorf("got %+v", made)
	}
	for text, want := range map[string]evidence.Entry{
		made.FromReceipt: {Kind: evidence.KindReversal, Reference: made.FromReference, Account: evidence.Account{Agent: "agent-1"}},
		made.ToReceipt:   {Kind: evidence.KindTopUp, Reference: made.ToReference, Account: evidence.Account{Agent: "agent-2"}},
	} {
		r, err := evidence.ParseReceipt(text)
		if err != nil || r.Entry.Kind != want.Kind || r.Entry.Reference != want.Reference || r.Entry.Account.Agent != want.Account.Agent {
			t.Errorf("got %+v, %v; want %+v", r.Entry, err, want)
		}
	}
	if again := ask[billing.MovedCredit](g, "POST", "/usage/move", body(nil)); !again.Repeated || again.FromReceipt != made.FromReceipt {
		t.Errorf("got %+v", again)
	}
	for name, c := range map[string]struct {
		change map[string]any
		status int
		reason string
	}{
		"other amount":    {map[string]any{"amount": "5 EUR"}, http.StatusConflict, "REFERENCE_USED"},
		"too much":        {map[string]any{"amount": "6.01 EUR", "reference": "m 2"}, http.StatusConflict, "ALREADY_SETTLED"},
		"other currency":  {map[string]any{"amount": "USD", "reference": "m 2"}, http.StatusConflict, "ALREADY_SETTLED"},
		"nothing":         {map[string]any{"amount": "0 EUR", "reference": "m 2"}, http.StatusBadRequest, "MALFORMED_REQUEST"},
		"negative":        {map[string]any{"amount": "-1 EUR", "reference": "m 2"}, http.StatusBadRequest, "MALFORMED_REQUEST"},
		"no amount":       {map[string]any{"amount": "", "reference": "m 2"}, http.StatusBadRequest, "MALFORMED_REQUEST"},
		"same agent":      {map[string]any{"to": "agent-1", "reference": "m 2"}, http.StatusBadRequest, "MALFORMED_REQUEST"},
		"unknown agent":   {map[string]any{"to": "agent-l", "reference": "m 2"}, http.StatusNotFound, "NO_SUCH_RECORD"},
		"unknown source":  {map[string]any{"from": "agent-l", "reference": "m 2"}, http.StatusNotFound, "NO_SUCH_RECORD"},
		"no reference":    {map[string]any{"reference": " "}, http.StatusBadRequest, "MALFORMED_REQUEST"},
		"long reference":  {map[string]any{"reference": strings.Repeat("a", 129)}, http.StatusBadRequest, "MALFORMED_REQUEST"},
		"no reason":       {map[string]any{"reason": "", "reference": "m 2"}, http.StatusBadRequest, "MALFORMED_REQUEST"},
		"reason of lines": {map[string]any{"reason": "a\nb", "reference": "m 2"}, http.StatusBadRequest, "MALFORMED_REQUEST"},
	} {
		got := g.do("POST", "/usage/move", body(c.change))
		if got.Status != c.status || !strings.Contains(string(got.Body), c.reason) {
			t.Errorf("%s: %d %s; want %d %s", name, got.Status, got.Body, c.status, c.reason)
		}
	}
	rest := ask[billing.MovedCredit](g, "POST", "/usage/move", body(map[string]any{"amount": "EUR", "reference": "m 2"}))
	if rest.Amount != "6.00" {
		t.Errorf("all: got %+v", rest)
	}
	accounts := items[billing.Account](g, "/usage/accounts")
	if len(accounts) != 2 || accounts[0].Balance != "0.00" || accounts[1].Balance != "10.00" {
		t.Errorf("got %+v", accounts)
	}
	g.Refuses(g.do("POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": "1 EUR", "reference": "move:m 9:to"}),
		http.StatusBadRequest, "MALFORMED_REQUEST")
}
