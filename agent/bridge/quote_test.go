package bridge_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/quote"
)

const agents = `{
  "service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "intents": [
    {"intent_uid": "shop.example:search:v1", "intent_name": "Search", "description": "d", "endpoint": {"url": "https://shop.example/s", "method": "GET"}},
    {"intent_uid": "shop.example:order:v1", "intent_name": "Order", "description": "d", "endpoint": {"url": "https://shop.example/o", "method": "POST"}}
  ]
}`

// Each policy lists only permissions for order, unless it names another intent.
func TestQuotes(t *testing.T) {
	t.Parallel()
	const order = `"target": "shop.example:order:v1", "action": "execute"`
	pay := func(amount, unit string) string {
		return `"duty": [{"action": "pay", "amount": "` + amount + `", "unit": "` + unit + `"}]`
	}
	limited := func(period string, n string) string {
		return `"constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": ` + n + `, "unit": "` + period + `"}]`
	}
	for name, test := range map[string]struct{ rules, most, words string }{
		"free":               {`"permission": [{` + order + `}]`, "0", "Free of charge."},
		"priced":             {`"permission": [{` + order + `,` + pay("0.05", "EUR") + `}]`, "0.05 EUR", "Costs 0.05 EUR a call."},
		"limited":            {`"permission": [{` + order + `,` + limited("hour", "60") + `}]`, "0", "Free of charge. At most 60 calls an hour."},
		"limited and priced": {`"permission": [{` + order + `,` + limited("day", "1") + `,` + pay("1", "USD") + `}]`, "1.00 USD", "Costs 1.00 USD a call. At most 1 call a day."},
		"free at first":      {`"permission": [{` + order + `,` + limited("day", "9") + `},{` + order + `,` + pay("0.05", "EUR") + `}]`, "0.05 EUR", "Costs up to 0.05 EUR a call."},
		"two currencies":     {`"permission": [{` + order + `,` + pay("1", "USD") + `},{` + order + `,` + pay("0.05", "EUR") + `}]`, "", ""},
		"by the host's name": {`"permission": [{"target": "https://shop.example/api/intents/shop.example:order:v1", "action": "execute", ` + pay("0.05", "EUR") + `}]`, "0.05 EUR", "Costs 0.05 EUR a call."},
		"prohibited":         {`"permission": [{` + order + `}], "prohibition": [{` + order + `}]`, "", ""},
		"another intent":     {`"permission": [{"target": "shop.example:search:v1", "action": "execute"}]`, "", ""},
		"for another agent":  {`"permission": [{` + order + `, "assignee": "https://a.example/agent", ` + pay("2", "EUR") + `}]`, "2.00 EUR", "Costs 2.00 EUR a call."},
		"an unknown duty":    {`"permission": [{` + order + `, "duty": [{"action": "https://a.example/dance"}]}]`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			catalog, problems := intents.Parse([]byte(agents), intents.Options{})
			if catalog == nil {
				t.Fatal(problems)
			}
			policy := `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
			  "profile": "http://example.com/profile/odrl-uim", ` + test.rules + `}`
			q, ok := quote.Of(t.Context(), []byte(policy), catalog, quote.Agent{ID: "me"}, time.Now())["shop.example:order:v1"]
			if ok != (test.most != "") || ok && (q.Most.String() != test.most || q.Words != test.words) {
				t.Errorf("%v: %v %q, want %q %q", ok, q.Most, q.Words, test.most, test.words)
			}
		})
	}
	catalog, _ := intents.Parse([]byte(agents), intents.Options{})
	if len(quote.Of(t.Context(), []byte("{"), catalog, quote.Agent{}, time.Now())) != 0 {
		t.Error("an invalid policy has quotes")
	}
}
