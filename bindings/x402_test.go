package bindings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	facilitatortest "github.com/uimgate/uimgate/internal/test/facilitator"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

// TestX402Fetch pays with the official x402 client: for a call, at /api/credit, and while the facilitator fails after money moved.
func TestX402Fetch(t *testing.T) {
	dir := bindtest.Node(t)
	var g *gatetest.Gate
	chain := facilitatortest.New(t, func() time.Time { return g.Now() })
	chain.Remember()
	g = gatetest.New(t, "billing: {mode: prepaid}\npayments: {minimum: 0.5 EUR, "+facilitatortest.Settings(chain.URL, "EUR")+"}\n"+
		"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+"}\n")
	g.Pass(time.Since(g.Now())) // the client uses the clock of the machine
	g.Must(g.View.Refresh(t.Context()))
	agent := g.Agreed("agent-1")
	ask := bindtest.Start(t, dir, "x402.mjs", g.URL, agent.Token)
	run := func(path string, bodies ...string) (out struct {
		Payer string
		Seen  []struct {
			Status, Requests int
			Error            string
			Settled          struct {
				Success            bool
				Transaction, Payer string
			}
			Body map[string]any
		}
	},
	) {
		t.Helper()
		ask(map[string]any{"path": path, "bodies": bodies}, &out)
		return out
	}
	order := `{"intent_uid":"` + gatetest.Ordering + `","parameters":{"product":"lamp"}}`
	bought := run("/api/intents/execute", order, order, order)
	for i, a := range bought.Seen {
		pays := i != 1 // the first payment is enough for two calls
		if a.Status != 200 || a.Body["ok"] != true || a.Settled.Success != pays || (a.Requests == 2) != pays ||
			pays && !strings.EqualFold(a.Settled.Payer, bought.Payer) {
			t.Fatalf("call %d: got %+v", i, a)
		}
	}
	credit := `{"amount":"1","currency":"EUR"}`
	paid := run("/api/credit", credit).Seen[0]
	if paid.Status != 200 || paid.Body["credited"] != "1.00" || paid.Body["balance"] != "1.25" || !paid.Settled.Success {
		t.Fatalf("got %+v", paid)
	}
	for i, fault := range []facilitatortest.Fault{facilitatortest.Refused, facilitatortest.MovedBroken, facilitatortest.MovedCut} {
		chain.Fail(fault)
		attempts := []string{credit}
		if fault != facilitatortest.Refused {
			attempts = append(attempts, credit)
		}
		seen := run("/api/credit", attempts...).Seen
		failed, moved := seen[0], len(chain.Moved())
		switch fault {
		case facilitatortest.Refused:
			if failed.Status != 402 || failed.Settled.Success || moved != 3 {
				t.Errorf("%s: got %+v, %d moved", fault, failed, moved)
			}
		default: // the client shows the response instead of paying again
			if failed.Status != 409 || moved != 3+i || !strings.Contains(fmt.Sprint(failed.Body), "PAYMENT_UNKNOWN") {
				t.Errorf("%s: got %+v, %d moved", fault, failed, moved)
			}
			if again := seen[1]; again.Status != 409 || again.Requests != 1 {
				t.Errorf("%s, again: got %+v", fault, again)
			}
		}
		chain.Fail(facilitatortest.None)
		g.Later(15 * time.Second)
		g.Must(g.Cashier.Settle(t.Context()))
	}
	list, err := g.Store.Accounts(t.Context(), store.Filter{Service: "default"})
	if g.Must(err); len(list) != 1 || list[0].ToppedUp.String() != "4.00 EUR" || len(chain.Moved()) != 5 {
		t.Errorf("got %+v, %d moved; want all five payments credited", list, len(chain.Moved()))
	}
	g.Must(g.Store.CheckBalance(t.Context()))
}
