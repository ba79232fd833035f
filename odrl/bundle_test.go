package odrl_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/uimgate/uimgate/odrl"
)

// Plain OPA with only the bundle and the input permits an action exactly when Evaluate does.
func TestBundleDecidesInPlainOPA(t *testing.T) {
	doc := policy(`"conflict":"prohibit","permission":[{"target":"http://example.com/a","action":"play","constraint":` + leaf("dateTime", "lt", "2030-01-01") + `}],
		"prohibition":[{"target":"http://example.com/a","action":"play","assignee":"http://example.com/bad"}]`)
	p := lenient(t, doc)
	var file bytes.Buffer
	if err := p.Bundle(&file); err != nil {
		t.Fatal(err)
	}
	b, err := bundle.NewReader(&file).Read()
	if err != nil {
		t.Fatal(err)
	}
	query, err := rego.New(rego.ParsedBundle("policy", &b), rego.Query("data.uimgate.odrl.evaluation"),
		rego.StrictBuiltinErrors(true)).PrepareForEval(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		party, year string
		permit      bool
		permitting  int
		prohibiting int
	}{
		{"http://example.com/good", "2029", true, 1, 0},
		{"http://example.com/good", "2030", false, 0, 0},
		{"http://example.com/bad", "2029", false, 1, 1},
	} {
		now, err := time.Parse(time.RFC3339, test.year+"-06-15T12:00:00Z")
		if err != nil {
			t.Fatal(err)
		}
		q := odrl.Question{Party: test.party, Action: "play", Target: "http://example.com/a"}
		w := odrl.WorldState{Now: now}
		e, err := p.Evaluate(t.Context(), q, w, odrl.EvaluateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := p.Input(q, w, odrl.EvaluateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var input any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&input); err != nil {
			t.Fatal(err)
		}
		results, err := query.Eval(t.Context(), rego.EvalInput(input))
		if err != nil || len(results) != 1 {
			t.Fatalf("got %v, %v; want length 1, nil", results, err)
		}
		found, ok := results[0].Expressions[0].Value.(map[string]any)
		if !ok {
			t.Fatalf("got %+v", results)
		}
		got := map[string]int{}
		for _, name := range []string{"permitting", "prohibiting"} {
			list, ok := found[name].([]any)
			if !ok {
				t.Fatalf("%s: %+v", name, found)
			}
			got[name] = len(list)
		}
		if diff := cmp.Diff(map[string]int{"permitting": test.permitting, "prohibiting": test.prohibiting},
			got); diff != "" || e.Permit != test.permit {
			t.Errorf("%s in %s: %v %s; want %v, an empty string", test.party, test.year, e.Permit, diff, test.permit)
		}
	}
}

func lenient(t *testing.T, doc string) *odrl.Policy {
	t.Helper()
	p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{Lenient: true})
	if p == nil {
		t.Fatalf("%s: %v", doc, problems)
	}
	return p
}
