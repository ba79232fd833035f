package evidence_test

import (
	"os"
	"testing"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
)

func TestStatesPrice(t *testing.T) {
	t.Parallel()
	const (
		simple = `{"uid": "p", "permission": [{"uid": "r"}, {"uid": "r1", "action": "execute",
			"duty": {"action": "pay", "amount": 0.05, "unit": "EUR"}}]}`
		parts = `{"permission": [{"duty": [{"action": "pay", "amount": "0.05", "unit": "EUR"}, {"action": "inform"},
			{"action": [{"value": "odrl:compensate"}], "amount": 1e-2, "currency": {"@id": "http://dbpedia.org/resource/Euro"}}]}],
			"obligation": {"action": "pay", "amount": "1", "unit": "EUR", "target": "x:y:v1"}}`
		refined = `{"odrl:permission": [{"odrl:duty": {"odrl:action": {"value": "pay",
			"refinement": [{"leftOperand": "payAmount", "rightOperand": {"@value": "5.00"}, "unit": "USD"}]}}}]}`
		conditional = `{"permission": [{"duty": {"action": "pay", "amount": 2, "unit": "EUR", "constraint": {"leftOperand": "dateTime"}}}]}`
	)
	for name, tt := range map[string]struct {
		document, rule, amount string
		states, found          bool
	}{
		"the price":                     {simple, "/permission/1", "0.05 EUR", true, true},
		"by uid":                        {simple, "r1", "0.05 EUR", true, true},
		"another price":                 {simple, "/permission/1", "5.00 EUR", false, true},
		"another currency":              {simple, "/permission/1", "0.05 USD", false, true},
		"a free rule":                   {simple, "/permission/0", "0.05 EUR", false, true},
		"a free call":                   {simple, "/permission/0", "0.00 EUR", true, true},
		"no rule":                       {simple, "/permission/2", "0.05 EUR", false, false},
		"an index in another form":      {simple, "/permission/01", "0.05 EUR", false, false},
		"no object":                     {simple, "/uid", "0.05 EUR", false, false},
		"the uid of the policy":         {simple, "p", "0.05 EUR", false, false},
		"no policy":                     {"[]", "/permission/0", "0.05 EUR", false, false},
		"the sum of the duties":         {parts, "/permission/0", "0.06 EUR", true, true},
		"one of the duties":             {parts, "/permission/0", "0.05 EUR", false, true},
		"with an obligation of targets": {parts, "/permission/0", "1.06 EUR", true, true},
		"a refinement":                  {refined, "/odrl:permission/0", "5.00 USD", true, true},
		"under a condition":             {conditional, "/permission/0", "2.00 EUR", true, true},
		"without the condition":         {conditional, "/permission/0", "0.00 EUR", true, true},
	} {
		amount, err := money.Parse(tt.amount)
		if err != nil {
			t.Fatal(err)
		}
		if states, found := evidence.StatesPrice([]byte(tt.document), tt.rule, amount); states != tt.states || found != tt.found {
			t.Errorf("%s: got %t, %t, want %t, %t", name, states, found, tt.states, tt.found)
		}
	}
	document, err := os.ReadFile("../examples/policies/priced-call.json")
	if err != nil {
		t.Fatal(err)
	}
	if states, found := evidence.StatesPrice(document, "/permission/0", money.Amount{Nano: 1, Currency: "EUR"}); states || !found {
		t.Errorf("an example: got %t, %t", states, found)
	}
}

func FuzzStatesPrice(f *testing.F) {
	f.Add([]byte(`{"permission": [{"duty": {"action": "pay", "amount": 0.05, "unit": "EUR"}}]}`), "/permission/0")
	f.Add([]byte(`{"permission": {"uid": "r", "duty": [{"action": {"@id": "pay"}, "amount": {"@value": "1e9"}}]}}`), "r")
	f.Fuzz(func(t *testing.T, document []byte, rule string) {
		states, found := evidence.StatesPrice(document, rule, money.Amount{Nano: 50_000_000, Currency: "EUR"})
		if states && !found {
			t.Errorf("a rule that does not exist has a price")
		}
	})
}
