package bridge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// charging returns a successful reply with a captured charge.
func charging(amount string) agenttest.Reply {
	return agenttest.Reply{Status: 200, Header: map[string]string{"UIM-Charge": amount + "; id=e; state=captured"}, Body: "{}"}
}

// Once a service has charged an intent in a currency that its terms do not name, the bridge no longer calls that intent, however small
// the charge was.
func TestChargeInAnotherCurrency(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limits  []string
		tool    string
		charged string
		terms   bool // the bridge can read the terms
		goesOn  bool
	}{
		"not in the terms":                   {[]string{"1 USD/day", "1 EUR/day"}, orderTool, "0.000000001 EUR", true, false},
		"not in the terms, without a budget": {[]string{"1 USD/day"}, orderTool, "0.000000001 EUR", true, false},
		"for a free call, without a budget":  {[]string{"1 USD/day"}, searchTool, "0.000000001 EUR", true, false},
		"for a free call, with a budget":     {[]string{"1 USD/day"}, searchTool, "0.000000001 USD", true, true},
		"unknown price, without a budget":    {[]string{"1 USD/day"}, orderTool, "0.000000001 EUR", false, false},
		"unknown price, one of the budgets":  {[]string{"1 USD/day", "1 EUR/day"}, orderTool, "0.000000001 EUR", false, true},
		"the charge in the terms":            {[]string{"1 USD/day"}, orderTool, "0.01 USD", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			o := withBudget(t, optionsFor(t, shop), test.limits...)
			if !test.terms {
				o.ReadTerms = nil
			}
			h := start(t, o)
			shop.Script(charging(test.charged))
			h.ok(test.tool, nil)
			if test.goesOn {
				h.ok(test.tool, nil)
				return
			}
			sentence, details := h.refused(test.tool, nil, "OTHER_CURRENCY")
			has(t, sentence, "No call was made", test.charged)
			if details["charged"] != test.charged {
				t.Errorf("got %v", details)
			}
			if n := len(shop.Calls()); n != 1 {
				t.Errorf("%d calls, want 1", n)
			}
		})
	}
}

// The bridge remembers charges beyond the terms until the owner accepts another policy. If the service offers another policy for a while,
// the bridge still remembers them.
func TestExcessSurvivesPolicyChanges(t *testing.T) {
	t.Parallel()
	const accepted = `{"uid":"` + agenttest.PolicyUID + `","permission":[{"target":"` + agenttest.Order + `","action":"execute"}]}`
	shop := agenttest.New(t, agenttest.Canonical)
	shop.Offer(t, accepted)
	h := start(t, withBudget(t, optionsFor(t, shop), "1 USD/day", "1 EUR/day"))
	shop.Script(charging("0.000000001 EUR"))
	h.ok(orderTool, nil)
	shop.Offer(t, `{"uid":"`+agenttest.PolicyUID+`","permission":[]}`)
	h.refused(searchTool, nil, "POLICY_REQUIRES_AGREEMENT")
	shop.Offer(t, accepted)
	h.refused(orderTool, nil, "OTHER_CURRENCY")
}

// The bridge reserves at least the price in the terms, and at least the amount that the service has charged under them.
func TestPriceDoesNotFall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		charges []string // of the orders that fit the budget
		budget  string   // too small for one more order
	}{
		"less than the terms":       {[]string{"0.001 USD"}, "0.0105 USD/day"},
		"more than the terms":       {[]string{"0.02 USD"}, "0.03 USD/day"},
		"more than the terms, once": {[]string{"0.02 USD", "0.01 USD"}, "0.045 USD/day"},
		"one higher charge":         {[]string{"0.02 USD", "0.000000001 USD"}, "0.04 USD/day"},
		"a higher charge each time": {[]string{"0.02 USD", "0.03 USD"}, "0.07 USD/day"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			h := start(t, withBudget(t, optionsFor(t, shop), test.budget))
			for n, charge := range test.charges {
				shop.Script(charging(charge))
				h.ok(orderTool, map[string]any{"query": fmt.Sprint(n)})
			}
			h.refused(orderTool, nil, "BUDGET_EXCEEDED")
		})
	}
}

// The price in agents.json is not binding, so the bridge makes such calls one at a time, like calls without a price. It does the same
// once a service has charged beyond its terms.
func TestUnprovedPrice(t *testing.T) {
	t.Parallel()
	for _, beyond := range []bool{false, true} {
		t.Run(fmt.Sprintf("beyond the terms=%v", beyond), func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			o := withBudget(t, optionsFor(t, shop), "0.5 USD/day")
			before := 0
			if beyond {
				shop.Script(charging("0.011 USD"))
			} else {
				o.ReadTerms = nil
				shop.SetMember("intents", []any{map[string]any{
					"intent_uid": agenttest.Order, "intent_name": "Order", "description": "d", "price": "0.000000001 USD",
					"endpoint": map[string]any{"url": "https://shop.example/order", "method": "POST"},
				}})
			}
			h := start(t, o)
			if beyond {
				h.ok(orderTool, nil)
				before = 1
			}
			shop.Script(slices.Repeat([]agenttest.Reply{charging("0.5 USD")}, 20)...)
			results := make(chan *mcp.CallToolResult, 20)
			for range cap(results) {
				go func() {
					result, _ := h.CallTool(t.Context(), &mcp.CallToolParams{Name: orderTool})
					results <- result
				}()
			}
			for range cap(results) {
				if r := <-results; r == nil || r.IsError && !strings.Contains(text(r, 1), "BUDGET_EXCEEDED") {
					t.Errorf("got %+v", r)
				}
			}
			if n := len(shop.Calls()) - before; n != 1 {
				t.Errorf("got %d calls of 0.5 USD within a budget of 0.5 USD, want 1", n)
			}
		})
	}
}
