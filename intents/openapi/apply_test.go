package openapi_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/intents/openapi/curation"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

const (
	appliedCuration = `selection: {new: none}
operations:
  getLamp: {hidden: false, uid: shop.example:get-lamp:v1} # GET /lamps/{id}, reads
  listLamps: {hidden: true, uid: shop.example:list-lamps:v1} # GET /lamps, reads
  orderLamp: # POST /orders, writes
    hidden: false
    uid: shop.example:order-lamp:v1
    price: 0.50 EUR
    notes: mine
`
	appliedAgents = `{"service-info": {"name": "shop.example"}, "intents": [
		{"intent_uid": "shop.example:get-lamp:v1", "intent_name": "GetLamp", "description": "A lamp."},
		{"intent_uid": "shop.example:order-lamp:v1", "intent_name": "OrderLamp", "description": "Orders."}]}`
	appliedPolicy = `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1", "permission": [
		{"uid": "#1", "target": ["shop.example:get-lamp:v1"], "action": "execute",
		 "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 1000, "unit": "http://example.com/vocab/perHour"}]},
		{"uid": "#2", "target": ["shop.example:order-lamp:v1"], "action": "execute",
		 "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 60, "unit": "http://example.com/vocab/perHour"}],
		 "duty": [{"uid": "#3", "action": "pay", "amount": "0.50", "unit": "EUR"}]}]}`
)

// appliedTerms are the terms under appliedPolicy.
func appliedTerms(uid string) openapi.Terms {
	out := openapi.Terms{Permitted: true, Covered: true, Certain: true, Limit: limit.Rate{Max: 1000, Period: limit.Hour}}
	if uid == "shop.example:order-lamp:v1" {
		out.Price, out.Limit = money.Amount{Nano: money.Unit / 2, Currency: "EUR"}, limit.Rate{Max: 60, Period: limit.Hour}
	}
	return out
}

func TestApplyCuration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to       string // a replacement in the curation
		changes, waits []string
		agents, policy string // what the new files contain; empty: they do not change
		agentsLack     string
	}{
		"nothing": {"", "", nil, nil, "", "", ""},
		"notes":   {"notes: mine", "notes: ours", nil, nil, "", "", ""},
		"a description": {
			"hidden: false, uid: shop.example:get-lamp:v1", "hidden: false, uid: shop.example:get-lamp:v1, description: One lamp.",
			[]string{"shop.example:get-lamp:v1: description is changed"},
			nil, `"description": "One lamp."`, "", "A lamp.",
		},
		"a price": {
			"price: 0.50 EUR", "price: 0.75 EUR", []string{"shop.example:order-lamp:v1: price 0.50 EUR → 0.75 EUR"}, nil, "", `"0.75"`, "",
		},
		"no price": {"price: 0.50 EUR", "name: X", []string{
			"shop.example:order-lamp:v1: intent_name is changed", "shop.example:order-lamp:v1: price 0.50 EUR → none",
		}, nil, `"intent_name": "X"`, `"rightOperand":60`, ""},
		"a limit": {
			"price: 0.50 EUR", "price: 0.50 EUR\n    limit: 5/hour", []string{"shop.example:order-lamp:v1: limit 60/hour → 5/hour"}, nil, "", `5`, "",
		},
		"hidden": {
			"getLamp: {hidden: false", "getLamp: {hidden: true",
			[]string{"shop.example:get-lamp:v1: is retired: agents can no longer call it"},
			nil,
			`"retired": true`, "", "",
		},
		// Otherwise the intent would be offered again later with the old price and text, which the curation no longer has.
		"hidden with another price and text": {
			"hidden: false\n    uid: shop.example:order-lamp:v1\n    price: 0.50 EUR",
			"hidden: true\n    uid: shop.example:order-lamp:v1\n    price: 0.75 EUR\n    name: X",
			[]string{
				"shop.example:order-lamp:v1: is retired: agents can no longer call it", "shop.example:order-lamp:v1: intent_name is changed",
				"shop.example:order-lamp:v1: price 0.50 EUR → 0.75 EUR",
			},
			nil, `"intent_name": "X"`, `"0.75"`, "",
		},
		"retired and hidden": {
			"hidden: true, uid: shop.example:list-lamps:v1", "hidden: false, uid: shop.example:old:v1", nil,
			[]string{"listLamps is new or has another uid"},
			"", "", "",
		},
		"offered":       {"listLamps: {hidden: true", "listLamps: {hidden: false", nil, []string{"listLamps is not in agents.json yet"}, "", "", ""},
		"another uid":   {"uid: shop.example:get-lamp:v1", "uid: shop.example:lamp:v1", nil, []string{"getLamp is new or has another uid"}, "", "", ""},
		"the selection": {"new: none", "new: all", nil, []string{"the selection applies to operations that are not listed"}, "", "", ""},
		"agreement": {
			"notes: mine", "agreement: fresh", nil, []string{"orderLamp has another rule about agreements, which is in uimgate.yaml"}, "", "", "",
		},
		"an operation less": {
			"  listLamps: {hidden: true, uid: shop.example:list-lamps:v1} # GET /lamps, reads\n", "", nil,
			[]string{"listLamps is no longer listed, so the selection decides about it"},
			"", "", "",
		},
	} {
		edited := strings.Replace(appliedCuration, c.from, c.to, 1)
		got, err := openapi.Apply([]byte(appliedCuration), []byte(edited), []byte(appliedAgents), []byte(appliedPolicy), appliedTerms)
		if err != nil || !slices.Equal(got.Changes, c.changes) || !slices.Equal(got.Waiting, c.waits) {
			t.Errorf("%s: %q %q %v", name, got.Changes, got.Waiting, err)
		}
		if (c.agents == "") != (got.Agents == nil) || !strings.Contains(string(got.Agents), c.agents) ||
			c.agentsLack != "" && strings.Contains(string(got.Agents), c.agentsLack) {
			t.Errorf("%s: agents.json is %s", name, got.Agents)
		}
		if (c.policy == "") != (got.Policy == nil) || !strings.Contains(string(got.Policy), c.policy) {
			t.Errorf("%s: the policy is %s", name, got.Policy)
		}
	}
	for _, bad := range []string{"operations: [", strings.Replace(appliedCuration, "shop.example:get-lamp:v1", "lamp", 1)} {
		if _, err := openapi.Apply([]byte(appliedCuration), []byte(bad), []byte(appliedAgents), []byte(appliedPolicy), appliedTerms); !errors.Is(
			err, openapi.ErrCuration) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSetOperationKeepsOtherText(t *testing.T) {
	t.Parallel()
	got, err := openapi.SetOperation([]byte(appliedCuration), "listLamps", func(o *curation.Operation) { o.Hidden, o.Name = curation.Offered, "All" })
	want := strings.Replace(appliedCuration, "{hidden: true, uid: shop.example:list-lamps:v1}", "{hidden: false, uid: shop.example:list-lamps:v1, name: All}", 1)
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := openapi.SetOperation([]byte(appliedCuration), "none", func(*curation.Operation) {}); !errors.Is(err, openapi.ErrCuration) {
		t.Errorf("an unknown operation: %v", err)
	}
}

func FuzzApply(f *testing.F) {
	f.Add([]byte(appliedCuration))
	f.Add([]byte(strings.Replace(appliedCuration, "0.50 EUR", "0.75 EUR", 1)))
	f.Add([]byte("operations: {getLamp: {hidden: true, uid: shop.example:get-lamp:v1}}"))
	f.Fuzz(func(t *testing.T, edited []byte) {
		got, err := openapi.Apply([]byte(appliedCuration), edited, []byte(appliedAgents), []byte(appliedPolicy), appliedTerms)
		if err != nil && !errors.Is(err, openapi.ErrCuration) {
			t.Errorf("an error that is not about the curation: %v", err)
		}
		for _, file := range [][]byte{got.Agents, got.Policy} {
			if file != nil && !json.Valid(file) {
				t.Errorf("a file is not JSON: %s", file)
			}
		}
	})
}
