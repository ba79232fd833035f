package bridge

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/uimgate/uimgate/agent/receipts"
	"github.com/uimgate/uimgate/evidence"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// The budget counts the amount and the state in the receipt, and the host receives the problems of the receipt.
func TestBudgetCountsReceipts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tamper  agenttest.Alteration
		want    string // the problem that the host receives
		counted string // by the budget
	}{
		"as charged": {agenttest.Alteration{}, "", "0.01 USD"},
		"more":       {agenttest.Alteration{Entry: func(e *evidence.Entry) { e.Amount.Nano *= 3 }}, "AMOUNT", "0.03 USD"},
		"released":   {agenttest.Alteration{Entry: func(e *evidence.Entry) { e.To = evidence.StateReleased }}, "STATE", ""},
		"of another agent, for more": {
			agenttest.Alteration{Entry: func(e *evidence.Entry) { e.Account.Agent, e.Amount.Nano = "other", 1 }}, "AGREEMENT", "0.01 USD",
		},
		"none": {
			agenttest.Alteration{Receipt: func(string) []string { return nil }, Refuse: true}, "CHARGED_WITHOUT_RECEIPT", "0.01 USD",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			shop.GiveReceipts()
			shop.Tamper(tt.tamper)
			o := withBudget(t, optionsFor(t, shop), "0.02 USD/day")
			o.Agent.Receipts = filepath.Join(o.Agreements, "receipts")
			logged := make(chan string, 8)
			o.Log = func(line string) { logged <- line }
			h := start(t, o)
			result := h.ok(orderTool, nil)
			if (tt.want == "") != (len(result.Content) == 1) || (result.Meta["UIM-Receipt"] == nil) != (name == "none" || tt.want == "AGREEMENT") {
				t.Errorf("got %d texts and the receipt %v", len(result.Content), result.Meta["UIM-Receipt"])
			}
			if tt.want != "" {
				meta, err := json.Marshal(result.Meta["UIM-Discrepancies"])
				if err != nil {
					t.Fatal(err)
				}
				has(t, string(meta), tt.want)
				has(t, text(result, 1), "The call was made, but its receipt does not match it", tt.want)
				has(t, <-logged, tt.want, agenttest.Order)
			}
			spent, err := o.Budget.Reserve(t.Context(), o.Budget.Limits()[0].Amount)
			if tt.counted == "" && err != nil {
				t.Errorf("got %v, want the whole budget", err)
			}
			if tt.counted != "" {
				if err == nil {
					t.Fatalf("got %v, want an error with %s", spent.Amount(), tt.counted)
				}
				has(t, err.Error(), tt.counted+" of the budget")
			}
			books, err := receipts.Books(o.Agent.Receipts)
			if err != nil || len(books) != 1 {
				t.Errorf("got %d books, %v", len(books), err)
			}
		})
	}
}
