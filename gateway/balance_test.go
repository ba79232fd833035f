package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/money"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func TestBalance(t *testing.T) {
	g := gatetest.New(t, "billing: {credit: 100 EUR}\npayments: {minimum: 2 EUR, top_up_url: 'https://pay.example/?for={agent_id}&amount={amount}'}\n"+
		"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+"}\n")
	a, other := g.Agreed("agent-1"), g.Agreed("agent-2")
	const empty = `{"currency":"EUR","balance":"0.00","paid_in":"0.00","held":"0.00","captured":"0.00","owed":"0.00","limit":"10.00","available":"10.00"}`
	const rest = `,"minimum":{"amount":"2.00","currency":"EUR"},"top_up_url":"https://pay.example/?for=agent-1\u0026amount=2.00"}`
	check := func(state, want string) {
		t.Helper()
		got := get(g, "/api/balance", a.Token)
		if got.Status != http.StatusOK || string(got.Body) != want || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got %d %v\n%s\nwant\n%s", state, got.Status, got.Header, got.Body, want)
		}
	}
	check("at first", `{"agent_id":"agent-1","prepaid":false,"approved":false,"balances":[`+empty+`]`+rest)
	if called := g.Execute(a, gatetest.Ordering); called.Status != http.StatusOK {
		t.Fatalf("got %d %s", called.Status, called.Body)
	}
	check("after a call", `{"agent_id":"agent-1","prepaid":false,"approved":false,"balances":[{"currency":"EUR","balance":"-0.25",`+
		`"paid_in":"0.00","held":"0.00","captured":"0.25","owed":"0.25","limit":"10.00","available":"9.75"}]`+rest)
	_, err := g.Store.TopUp(t.Context(), store.TopUp{Service: "default", AgentID: a.ID, Amount: money.Amount{Nano: money.Unit, Currency: "EUR"}})
	g.Must(err)
	g.Must(g.Store.SetAgent(t.Context(), pat.AgentChange{Service: "default", ID: a.ID, Status: pat.AgentActive, Approved: true}))
	g.Must(g.View.Refresh(t.Context()))
	check("after a payment and approval", `{"agent_id":"agent-1","prepaid":false,"approved":true,"balances":[{"currency":"EUR","balance":"0.75",`+
		`"paid_in":"1.00","held":"0.00","captured":"0.25","owed":"0.00","limit":"100.00","available":"100.75"}]`+rest)
	if got := get(g, "/api/balance", other.Token); got.Status != http.StatusOK ||
		!strings.HasPrefix(string(got.Body), `{"agent_id":"agent-2","prepaid":false,"approved":false,"balances":[`+empty+`]`) {
		t.Errorf("another agent: got %d %s", got.Status, got.Body)
	}
	g.Refuses(g.Get("/api/balance"), http.StatusUnauthorized, "MISSING_TOKEN")
	if text := string(g.Get("/agents.json").Body); !strings.Contains(text, `"uim-balance": "http://127.0.0.1:8080/api/balance"`) {
		t.Errorf("agents.json does not name the address:\n%s", text)
	}
}
