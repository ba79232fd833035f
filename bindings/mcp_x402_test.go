package bindings_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	facilitatortest "github.com/uimgate/uimgate/internal/test/facilitator"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// TestX402 pays for a call to a tool under the terms in the result, in each place where clients look for them.
func TestX402(t *testing.T) {
	t.Parallel()
	for name, outputs := range map[string]string{"without an output schema": "", "with one": `"output_parameters": [{"name": "ok", "type": "boolean"}],`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var g *gatetest.Gate
			now := func() time.Time { return g.Now() }
			chain := facilitatortest.New(t, now)
			payer := facilitatortest.NewPayer(t, now)
			g = gatetest.New(t, "billing: {mode: prepaid}\npayments: {minimum: 1 EUR, "+facilitatortest.Settings(chain.URL, "EUR")+"}\n"+
				"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+", doors: {mcp: {}}}\n",
				func(g *gatetest.Gate) {
					g.Write("agents.json", strings.Replace(gatetest.AgentsFile, `"intent_name": "Order",`, `"intent_name": "Order", `+outputs, 1))
				})
			agent := g.Agreed("agent-1")
			call := func(meta map[string]any) *message {
				return ask(g, agent.Token, "tools/call", map[string]any{"name": "order_v1", "arguments": aLamp, "_meta": meta})
			}
			refused := call(nil)
			terms, err := json.Marshal(refused.Result.Meta["x402/payment-required"])
			g.Must(err)
			if content := refused.Result.Content; !refused.Result.IsError || len(content) != 3 || !same(content[2].Text, terms) ||
				!strings.Contains(content[0].Text, "costs 0.25 EUR") || (outputs == "") != same(string(refused.Result.Structured), terms) {
				t.Fatalf("got %+v", refused.Result)
			}
			var payment any
			g.Must(json.Unmarshal(payer.PayTerms(t, terms), &payment))
			paid := call(map[string]any{"x402/payment": payment})
			response, _ := paid.Result.Meta["x402/payment-response"].(map[string]any)
			if paid.Result.IsError || response["success"] != true || response["transaction"] != chain.Moved()[0].Transaction ||
				!strings.HasPrefix(paid.Result.Meta["UIM-Charge"].(string), "0.25 EUR;") {
				t.Fatalf("got %+v", paid.Result)
			}
			if receipt, _ := paid.Result.Meta["UIM-Top-Up-Receipt"].(string); strings.Count(receipt, ".") != 2 {
				t.Errorf("the receipt of the payment is %q", receipt)
			}
			if again := call(nil); again.Result.IsError || len(chain.Moved()) != 1 {
				t.Fatalf("on credit: got %+v", again.Result)
			}
			for _, wrong := range []any{"text", map[string]any{"x402Version": 1}, map[string]any{"x402Version": 2, "a": strings.Repeat("a", 9000)}} {
				bad := call(map[string]any{"x402/payment": wrong})
				if got := bad.Result; !got.IsError || !strings.Contains(got.Content[1].Text, "MALFORMED_REQUEST") {
					t.Errorf("%v: got %+v", wrong, got)
				}
			}
			forged := strings.Replace(string(payer.PayTerms(t, terms)), `"signature":"0x`, `"signature":"0x00`, 1)
			g.Must(json.Unmarshal([]byte(forged), &payment))
			failed := call(map[string]any{"x402/payment": payment})
			response, _ = failed.Result.Meta["x402/payment-response"].(map[string]any)
			if !failed.Result.IsError || response["success"] != false || failed.Result.Meta["x402/payment-required"] == nil ||
				!strings.Contains(failed.Result.Content[1].Text, "PAYMENT_FAILED") {
				t.Errorf("a forged payment: got %+v", failed.Result)
			}
		})
	}
}

// same reports whether a text is the same JSON as another.
func same(text string, other []byte) bool {
	var a, b any
	if json.Unmarshal([]byte(text), &a) != nil || json.Unmarshal(other, &b) != nil {
		return false
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
