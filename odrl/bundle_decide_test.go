package odrl_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
)

func TestBundleReproducesDecisions(t *testing.T) {
	for name, c := range map[string]decisionCase{"example": exampleCase(t), "100 rules": hundredRules()} {
		p := publish(t, []byte(c.document), c.world)
		var first, second bytes.Buffer
		if err := p.Bundle(&first); err != nil {
			t.Fatal(err)
		}
		if err := publish(t, []byte(c.document), c.world).Bundle(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: bundles of one policy differ: %v", name, err)
		}
		b, err := bundle.NewReader(bytes.NewReader(first.Bytes())).Read()
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Manifest.Revision) != len("sha-256:")+43 {
			t.Errorf("%s: revision %q, want length %v", name, b.Manifest.Revision, len("sha-256:")+43)
		}
		denied := c.request
		denied.ProofKey, denied.Facts = nil, nil
		for _, r := range []odrl.Request{c.request, denied} {
			d := decide(t, p, r)
			text, err := p.DecideInput(r)
			if err != nil {
				t.Fatal(err)
			}
			results, err := rego.New(rego.ParsedBundle("policy", &b), rego.Query("data.uimgate.odrl.outcome"),
				rego.Input(document(t, text))).Eval(t.Context())
			if err != nil || len(results) != 1 {
				t.Fatalf("got %v, %v; want length 1, nil", results, err)
			}
			outcome, _ := results[0].Expressions[0].Value.(map[string]any)
			unmet, _ := outcome["unmet"].([]any)
			active, _ := outcome["active"].([]any)
			switch {
			case d.Permit && (len(active) == 0 || len(unmet) > 0), d.Reason == reason.PolicyRequiresVerification && len(unmet) == 0:
				t.Errorf("%s: %+v, but OPA returned %v", name, d, outcome)
			}
		}
	}
}

func TestBundleReproducesEvaluations(t *testing.T) {
	p, problems := odrl.Load(t.Context(), []byte(permit(`"constraint":`+leaf("purpose", "eq", "a"))), odrl.LoadOptions{Lenient: true})
	if p == nil {
		t.Fatal(problems)
	}
	if engine, reason := p.Engine(); engine != odrl.EngineOPA || reason == "" {
		t.Error(engine, reason)
	}
	var out bytes.Buffer
	if err := p.Bundle(&out); err != nil {
		t.Fatal(err)
	}
	b, err := bundle.NewReader(&out).Read()
	if err != nil {
		t.Fatal(err)
	}
	for purpose, want := range map[string]string{"a": "permit", "b": "none"} {
		text, err := p.Input(odrl.Question{
			Party: "x", Action: "execute", Target: "http://example.com/api/intents",
			Context: map[string]any{"purpose": purpose},
		}, odrl.WorldState{Now: noon}, odrl.EvaluateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		results, err := rego.New(rego.ParsedBundle("policy", &b), rego.Query("data.uimgate.odrl.evaluation.ruling"),
			rego.Input(document(t, text))).Eval(t.Context())
		if err != nil || len(results) != 1 || results[0].Expressions[0].Value != want {
			t.Errorf("%s: %v, %v, want %s", purpose, results, err, want)
		}
	}
}

func document(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
