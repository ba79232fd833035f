package odrl_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
)

// pool has the values that mutations insert.
var pool = []any{
	nil, true, "", "a", "*", "/", ":", "http://", "_:x", "execute", "odrl:use", "pay", "signPayload", "exceedRateLimit", "compensate",
	"http://example.com/api/intents", "example.com:buy:v1",
	"http://example.com/ai-agent/1", "eq", "neq", "lteq", "gt", "isAnyOf", "isPartOf", "within", "outside", "use", "count", "rateLimit",
	"purpose", "spatial", "dateTime", "timeWindow", "publicKey",
	"payAmount", "version", "hour", "USD", "2026-06-15", "2026-06-15T12:00:00Z", "09:00:00Z/17:00:00Z", "US", "perm", "prohibit",
	json.Number("0"), json.Number("-1"), json.Number("1e30"), json.Number("0.01"),
	list{},
	list{"a", "b"},
	map[string]any{},
	map[string]any{"@id": "odrl:execute"},
	map[string]any{"@value": "5"},
	map[string]any{"@list": list{list{}}},
	map[string]any{"start": "09:00", "end": "08:00"},
	map[string]any{"leftOperand": "purpose", "operator": "eq", "rightOperand": "a"},
	map[string]any{"leftOperand": "count", "operator": "lteq", "rightOperand": json.Number("3"), "unit": "day"},
	map[string]any{"or": list{
		map[string]any{"leftOperand": "purpose", "operator": "eq", "rightOperand": "a"},
		map[string]any{"leftOperand": "spatial", "operator": "neq", "rightOperand": "US"},
	}},
	map[string]any{"action": "pay", "amount": json.Number("1"), "unit": "EUR"},
	map[string]any{"action": "signPayload"},
	map[string]any{"target": "http://example.com/api/intents", "action": "execute"},
}

var names = []string{
	"permission", "prohibition", "obligation", "duty", "target", "action", "constraint", "refinement", "assignee", "assigner", "party",
	"asset", "conflict", "profile", "uid", "type", "unit", "amount",
	"operator", "leftOperand", "rightOperand", "and", "or", "xone", "andSequence", "status", "@id", "@type", "@value", "@list", "@context",
	"rdf:value", "odrl:constraint", "description", "inheritFrom", "remedy",
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, x := range v {
			m[k] = clone(x)
		}
		return m
	case []any:
		a := make([]any, len(v))
		for i, x := range v {
			a[i] = clone(x)
		}
		return a
	default:
		return v
	}
}

// mutate changes one node of a tree.
func mutate(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		switch n := r.IntN(10); {
		case n == 0 || len(keys) == 0:
			v[names[r.IntN(len(names))]] = clone(pool[r.IntN(len(pool))])
		case n == 1:
			delete(v, keys[r.IntN(len(keys))])
		default:
			k := keys[r.IntN(len(keys))]
			v[k] = mutate(r, v[k])
		}
		return v
	case []any:
		switch n := r.IntN(8); {
		case n == 0 || len(v) == 0:
			return append(v, clone(pool[r.IntN(len(pool))]))
		case n == 1:
			return v[:len(v)-1]
		case n == 2:
			return append(v, clone(v[r.IntN(len(v))]))
		default:
			i := r.IntN(len(v))
			v[i] = mutate(r, v[i])
			return v
		}
	default:
		return clone(pool[r.IntN(len(pool))])
	}
}

// TestMutatedPolicies changes valid policies step by step. Each result is either refused or satisfies the invariants of a policy.
func TestMutatedPolicies(t *testing.T) {
	seeds := []string{
		string(file(t, "uim-core.json")), string(file(t, "homes.json")), string(file(t, "draft.json")),
		permit(`"constraint":[{"or":[` + leaf("purpose", "isAnyOf", list{"a", "b"}) + `,` + leaf("dateTime", "lt", "2026-12-31") + `]}]`),
		policy(`"conflict":"perm"`, `"permission":[{`+all+`},{`+all+`,"duty":{"action":"pay","amount":1,"unit":"USD"}}]`,
			`"prohibition":{`+all+`,"constraint":`+leaf("spatial", "isPartOf", "US")+`}`),
	}
	w := world()
	w.AnyAssignee = true
	w.Hosts = append(w.Hosts, "127.0.0.1:4000")
	times := odrl.MutatedPolicies
	published := 0
	for seed := range times {
		r := rand.New(rand.NewPCG(7, uint64(seed)))
		tree, err := strictjson.Decode([]byte(seeds[seed%len(seeds)]))
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + r.IntN(4) {
			tree = mutate(r, tree)
		}
		doc, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		if holds(t, doc, w) {
			published++
		}
	}
	if published < times/20 {
		t.Errorf("only %d of %d mutants were published: the test covers too little", published, times)
	}
}

// holds checks the invariants of a document and reports whether it was published.
func holds(t *testing.T, doc []byte, w odrl.World) bool {
	t.Helper()
	p, problems := odrl.Publish(t.Context(), doc, w)
	if (p == nil) != problems.Failed() {
		t.Fatalf("%s\npolicy %v, problems %v", doc, p != nil, problems)
	}
	tree, _ := strictjson.Decode(doc)
	for _, x := range problems {
		if _, ok := strictjson.Lookup(tree, x.Pointer); !ok && x.Code != "json" {
			t.Fatalf("%s\nthe pointer of the problem %v is not in the document", doc, x)
		}
		if x.Message == "" || x.Code == "" || strings.Contains(x.Message, "%!") {
			t.Fatalf("%s\nproblem %+v", doc, x)
		}
	}
	if p == nil {
		return false
	}
	for _, a := range w.Intents {
		for _, facts := range []map[string]any{nil, {"purpose": "a", "spatial": "US-CA"}, {"purpose": json.Number("1"), "spatial": list{true}}} {
			r := odrl.Request{AgentID: "agent-1", AgentKey: []byte("k"), ProofKey: []byte("k"), Intent: a.UID, Now: noon, Facts: facts}
			d := decide(t, p, r)
			unproved := r
			unproved.ProofKey = nil
			if u := decide(t, p, unproved); u.Permit && !d.Permit {
				t.Fatalf("%s\npermitted only without a proof", doc)
			}
			ignorant := r
			ignorant.Facts = nil
			if u := decide(t, p, ignorant); u.Permit && d.Reason == reason.PolicyNotApplicable && facts["purpose"] == nil {
				t.Fatalf("%s\npermitted only without facts", doc)
			}
			terms, err := p.Terms(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if !d.Permit {
				continue
			}
			if !terms.Permitted || len(terms.Candidates) < len(d.Candidates) {
				t.Fatalf("%s\npermitted, but the terms do not include it: %+v", doc, terms)
			}
			for _, c := range d.Candidates {
				if err := unsound(tree, doc, c, p); err != "" {
					t.Fatalf("%s\n%s: %+v", doc, err, c)
				}
			}
		}
	}
	return true
}

func unsound(tree any, doc []byte, c odrl.Candidate, p *odrl.Policy) string {
	if strings.HasPrefix(c.Rule, "/") {
		if _, ok := strictjson.Lookup(tree, c.Rule); !ok {
			return "the rule stands nowhere"
		}
	} else if !strings.Contains(string(doc), strings.TrimPrefix(c.Rule, "http://www.w3.org/ns/odrl/2/")) {
		return "no rule has that uid"
	}
	ids := map[string]bool{}
	for _, l := range c.Limits {
		if ids[l.ID] || len(l.ID) != 16 || l.Max < 0 || l.Period == "" {
			return fmt.Sprintf("limit %+v", l)
		}
		ids[l.ID] = true
	}
	if !c.Charge.IsZero() && (!p.Charges() || !slices.Contains(p.Currencies(), c.Charge.Currency) || c.Charge.Nano < 0) {
		return "a charge the policy does not tell of"
	}
	return ""
}
