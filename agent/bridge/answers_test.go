package bridge

import (
	"strings"
	"testing"

	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// withOutput returns a shop whose search declares one output.
func withOutput(t *testing.T, output map[string]any) *agenttest.Service {
	t.Helper()
	shop := agenttest.New(t, agenttest.Canonical)
	shop.SetMember("intents", []any{map[string]any{
		"intent_uid": agenttest.Search, "intent_name": "Search", "description": "Finds goods", "input_parameters": []any{},
		"output_parameters": []any{output}, "endpoint": map[string]any{"url": "https://shop.example/search", "method": "GET"},
	}})
	return shop
}

// An MCP client drops a result that breaks the output schema, although the call was made and may have been paid. So the bridge
// returns such a result as an error that names the mismatch.
func TestUndeclaredResults(t *testing.T) {
	t.Parallel()
	const made = "The call was made, but its result does not match the declared output: "
	for name, test := range map[string]struct{ body, wrong string }{
		"as declared":         {`{"total": 7, "more": [1]}`, ""},
		"wrong type":          {`{"total": "7"}`, "total does not match its declared type"},
		"missing":             {`{}`, "total is missing"},
		"not an object":       {`[7]`, "the result is not an object"},
		"a number is exact":   {`{"total": 12345678901234567890}`, ""},
		"white space is JSON": {"{\n \"total\": 7 }", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := withOutput(t, map[string]any{"name": "total", "type": "integer", "required": true})
			h := start(t, optionsFor(t, shop))
			shop.Script(agenttest.Reply{Status: 200, Body: test.body})
			result := h.call(searchTool, nil)
			if test.wrong == "" {
				if result.IsError || text(result, 0) != test.body || result.StructuredContent == nil {
					t.Errorf("got %+v %s", result, text(result, 0))
				}
				return
			}
			if !result.IsError || result.StructuredContent != nil || !strings.HasPrefix(text(result, 0), made+test.wrong) ||
				text(result, 1) != test.body {
				t.Errorf("got %+v %q %q", result, text(result, 0), text(result, 1))
			}
		})
	}
}

// If an intent declares no outputs, the bridge passes any JSON on. Only an object is structured content, because some revisions of MCP
// require an object.
func TestResultsOfAnyType(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	h := start(t, optionsFor(t, shop))
	shop.Script(agenttest.Reply{Status: 200, Body: `[1]`}, agenttest.Reply{Status: 204})
	if result := h.ok(searchTool, nil); text(result, 0) != `[1]` || result.StructuredContent != nil {
		t.Errorf("got %+v", result)
	}
	if result := h.ok(searchTool, nil); text(result, 0) != `{}` || result.StructuredContent == nil {
		t.Errorf("got %+v", result)
	}
	shop.Script(agenttest.Reply{Status: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<p>"})
	result := h.call(searchTool, nil)
	if !result.IsError || !strings.Contains(text(result, 0), "may have taken effect") {
		t.Errorf("got %+v %s", result, text(result, 0))
	}
}

// The bridge logs a charge for a call that is free under the policy, and counts it against the budget.
func TestChargeForAFreeCall(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := withBudget(t, optionsFor(t, shop), "0.01 USD/day")
	logged := make(chan string, 8)
	o.Log = func(line string) { logged <- line }
	h := start(t, o)
	shop.Script(agenttest.Reply{Status: 200, Header: map[string]string{"UIM-Charge": "0.01 USD; id=e; state=captured"}, Body: "{}"})
	h.ok(searchTool, nil)
	has(t, <-logged, "0.01 USD", agenttest.Search, "more than its policy states")
	h.refused(orderTool, nil, "BUDGET_EXCEEDED")
}
