package odrl_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
)

// Decide and Evaluate return the same result for the same facts.
func TestDecideAndEvaluateAgree(t *testing.T) {
	seeds := slices.Insert(richPolicies(t), 3,
		permit(`"constraint":[{"or":[`+leaf("purpose", "isAnyOf", list{"a", "b"})+`,`+leaf("dateTime", "lt", "2026-12-31")+`]}]`))
	for _, c := range []string{
		leaf("absoluteSize", "lteq", "5") + `,` + leaf("percentage", "gt", "0.1"), leaf("elapsedTime", "lteq", "P30D"),
		leaf("delayPeriod", "gteq", "PT1H"), leaf("timeInterval", "eq", "P1M"),
		leaf("virtualLocation", "isPartOf", "10.0.0.0/8"), leaf("virtualLocation", "neq", "10.0.0.0/8"),
		leaf("virtualLocation", "isNoneOf", list{"10.1.0.0/16", "11.0.0.1"}), leaf("virtualLocation", "isPartOf", "example.com"),
		leaf("event", "eq", "http://example.com/fair"), leaf("dataUsage", "eq", "a"),
		`{"leftOperand":"absoluteSize","operator":"lt","rightOperand":"1","unit":"MB"},{"leftOperand":"absoluteSize","operator":"gt","rightOperand":"1","unit":"KB"}`,
		`{"leftOperand":"intentPrice","operator":"lt","rightOperand":"1","unit":"EUR"}`,
	} {
		seeds = append(seeds, permit(`"constraint":[`+c+`]`), policy(`"conflict":"prohibit"`, `"permission":[{`+all+`}]`,
			`"prohibition":[{`+all+`,"constraint":[`+c+`]}]`))
	}
	w := world()
	w.AnyAssignee = true
	w.Hosts = append(w.Hosts, "127.0.0.1:4000")
	times := odrl.AgreeingPolicies
	published, permits := 0, 0
	for seed := range times {
		r := rand.New(rand.NewPCG(11, uint64(seed)))
		tree, err := strictjson.Decode([]byte(seeds[seed%len(seeds)]))
		if err != nil {
			t.Fatal(err)
		}
		for range r.IntN(6) {
			tree = mutate(r, tree)
		}
		doc, err := strictjson.Canonical(tree)
		if err != nil {
			continue
		}
		p, _ := odrl.Publish(t.Context(), doc, w)
		if p == nil {
			continue
		}
		published++
		for range 4 {
			req := odrl.Request{AgentID: "agent-1", AgentKey: []byte("k"), Intent: w.Intents[r.IntN(len(w.Intents))].UID, Facts: map[string]any{}}
			if r.IntN(4) > 0 {
				req.Now = time.Date(2026, 6, 15, r.IntN(24), 0, 0, 0, time.UTC)
			}
			for name, values := range map[string]list{
				"purpose": {"a", "b", "http://example.com/a", list{"a", "b"}, 1, nil}, "spatial": {"US-CA", "DE", "EU", true},
				"industry":  {"bank", "shop"},
				"payAmount": {"0.05 USD", "1 EUR", "x"}, "recipient": {"a", "odrl:use"},
				"absoluteSize": {json.Number("5"), "5.00", "5.000000000000000000001", "-1", "1e9", list{"1", "2"}, true, "a", "1e999"},
				"percentage":   {json.Number("0.1"), "50", "101", "-1", "x"},
				"elapsedTime":  {"P30D", "P1M", "PT1H", "x", 5, list{"P1D", "P2D"}}, "delayPeriod": {"PT3600S", "PT59M59.999S", "P1M"},
				"timeInterval": {"P1M", "P30D", "P31D"},
				"virtualLocation": {
					"10.1.2.3", "11.0.0.1", "::ffff:10.1.2.3", "2001:db8::1", "api.example.com", "example.com.evil.org",
					list{"10.1.2.3", "12.0.0.1"},
					"10.1.0.0/16", "nowhere", 7,
				},
				"event": {
					"http://example.com/fair", "http://example.com/feast",
					list{"http://example.com/feast", "http://example.com/fair"},
					true,
				}, "dataUsage": {"a", "b"},
				"intentPrice": {"0.5 EUR", "2 EUR", "1 USD"},
			} {
				if v := values[r.IntN(len(values))]; r.IntN(3) > 0 && v != nil {
					req.Facts[name] = v
				}
			}
			world := odrl.WorldState{Now: req.Now}
			if r.IntN(2) == 0 {
				req.ProofKey = req.AgentKey
				world.Done = []odrl.Act{{Party: "agent-1", Action: "signPayload", At: req.Now}}
			}
			d, err := p.Decide(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, mode := range []odrl.DutyMode{odrl.DutiesFulfilled, odrl.DutiesNotViolated} {
				e, err := p.Evaluate(t.Context(), odrl.Question{Party: "agent-1", Action: "execute", Target: req.Intent, Context: req.Facts}, world,
					odrl.EvaluateOptions{DutyMode: mode})
				if err != nil {
					t.Fatal(err)
				}
				if e.Permit != d.Permit || e.Reason != d.Reason || e.Rule != d.Rule {
					t.Fatalf("%s\n%+v\ndecide %v %s %s\nevaluate %v %s %s", doc, req, d.Permit, d.Reason, d.Rule, e.Permit, e.Reason, e.Rule)
				}
				if !d.Permit {
					continue
				}
				permits++
				have := map[string]bool{}
				for _, l := range d.Candidates[0].Limits {
					have[l.ID] = true
				}
				for _, l := range e.Limits {
					if !have[l.ID] {
						t.Fatalf("%s\n%+v\nlimit %+v is not one of %+v", doc, req, l, d.Candidates[0].Limits)
					}
				}
				if d.Candidates[0].Charge.IsZero() != (len(e.Charges) == 0) {
					t.Fatalf("%s\n%+v\ncharge %v, charges %v", doc, req, d.Candidates[0].Charge, e.Charges)
				}
			}
		}
	}
	if published < times/20 || permits < times/20 {
		t.Errorf("only %d of %d published, %d permits", published, times, permits)
	}
}

// richPolicies returns documents that together contain every kind of rule.
func richPolicies(t *testing.T) []string {
	t.Helper()
	return []string{
		string(file(t, "uim-core.json")), string(file(t, "homes.json")), string(file(t, "draft.json")),
		permit(`"assignee":["http://example.com/ai-agent/1"],"constraint":[{"xone":[` + leaf("purpose", "neq", "a") + `,` +
			leaf("version", "gteq", "v1") + `]},` + leaf("spatial", "isPartOf", "US") + `]`),
		policy(`"conflict":"perm"`, `"permission":[{`+all+`},{`+all+`,"duty":{"action":"pay","amount":1,"unit":"USD"}}]`,
			`"prohibition":{`+all+`,"constraint":`+leaf("spatial", "isPartOf", "US")+`}`),
		policy(`"conflict":"prohibit"`, `"permission":[{`+all+`,"constraint":`+leaf("count", "lteq",
			5)+`},{`+all+`,"duty":[{"action":"pay","amount":1,"unit":"USD"},{"action":"signPayload"},{"action":"attribute"}]}]`,
			`"prohibition":[{`+all+`,"constraint":`+leaf("purpose", "isNoneOf",
				list{"a"})+`},{"target":"http://example.com/api/intents","action":{"@id":"odrl:execute","refinement":{"leftOperand":"count","operator":"gt","rightOperand":3,"unit":"day"}}}]`,
			`"obligation":[{"action":"signPayload","constraint":`+leaf("industry", "eq",
				"bank")+`},{"action":"inform"},{"action":"pay","amount":2,"unit":"USD"}]`),
	}
}
