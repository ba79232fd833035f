package odrl_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// Plain OPA with the module's files, and the data and input as JSON, returns the same as Evaluate.
func TestConformancePlainOPA(t *testing.T) {
	p := load(t, set(`"conflict":"perm"`,
		`"permission":[{"uid":"ex:p","assignee":"ex:staff","action":"use","target":"ex:x","constraint":[`+constraint("elapsedTime", "lt",
			"P1M", "")+`,`+constraint("absoluteSize", "lteq", `"123456789012345678901234567890.5"`, "")+
			`,`+constraint("spatial", "isPartOf", "DE", "")+`],"duty":{"uid":"ex:d","action":"inform","constraint":`+constraint("dateTime", "lt",
			"2026-06-10", "")+`,"consequence":{"uid":"ex:k","action":"pay"}}}]`,
		`"prohibition":{"uid":"ex:f","action":"print","target":"ex:x","remedy":{"uid":"ex:r","action":"anonymize"}}`, `"obligation":{"uid":"ex:o","assignee":"ex:bob","action":"delete"}`))
	question := `{"party":"http://example.org/alice","action":"read","target":"http://example.org/x","context":{"elapsedTime":"P20D","absoluteSize":"123456789012345678901234567890.4","spatial":"DE-BY"}}`
	for _, world := range []string{
		noWorld, atNoon, `{"currentTime":"2026-06-15T12:00:00Z","partOf":[{"member":"ex:alice","collection":"ex:staff"}]}`,
		`{"currentTime":"2026-06-15T12:00:00Z","partOf":[{"member":"ex:alice","collection":"ex:staff"}],"performed":[{"party":"ex:alice","action":"inform","time":"2026-06-09T00:00:00Z"},{"party":"ex:bob","action":"print","target":"ex:x","time":"2026-06-09T00:00:00Z"}]}`,
		`{"currentTime":"2026-06-15T12:00:00Z","partOf":[{"member":"ex:alice","collection":"ex:staff"}],"performed":[{"party":"ex:alice","action":"inform","time":"2026-06-12T00:00:00Z"},{"party":"ex:alice","action":"pay","time":"2026-06-12T00:00:00Z"}]}`,
	} {
		q, err := odrl.ParseQuestion([]byte(question), false)
		if err != nil {
			t.Fatal(err)
		}
		w, err := odrl.ParseWorldState([]byte(world))
		if err != nil {
			t.Fatal(err)
		}
		e := evaluate(t, p, question, world, "")
		input, err := p.Input(q, w, odrl.EvaluateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		data, err := p.EvaluationData()
		if err != nil {
			t.Fatal(err)
		}
		options := []func(*rego.Rego){
			rego.Query("data.uimgate.odrl.evaluation with data.policy as input.data.policy with input as input.input"), rego.ParsedInput(nil),
		}
		for name, text := range rules.Modules() {
			options = append(options, rego.Module(name, text))
		}
		var in, d any
		for _, x := range []struct {
			text []byte
			into *any
		}{{input, &in}, {data, &d}} {
			dec := json.NewDecoder(strings.NewReader(string(x.text)))
			dec.UseNumber()
			if err := dec.Decode(x.into); err != nil {
				t.Fatal(err)
			}
		}
		options[1] = rego.Input(map[string]any{"input": in, "data": d})
		results, err := rego.New(options...).Eval(t.Context())
		if err != nil || len(results) != 1 {
			t.Fatalf("got %v, %v; want length 1, nil", results, err)
		}
		found, ok := results[0].Expressions[0].Value.(map[string]any)
		if !ok {
			t.Fatalf("%T", results[0].Expressions[0].Value)
		}
		if permits := found["ruling"] == "permit"; permits != e.Permit {
			t.Errorf("%s: OPA returns %v, Evaluate %s", world, found["ruling"], outcome(e))
		}
		active := map[string]bool{}
		for _, n := range found["active"].([]any) {
			active[string(n.(json.Number))] = true
		}
		for i, r := range e.Rules {
			if active[string(json.Number(rune('0'+i)))] != (r.Activation == odrl.Active) {
				t.Errorf("%s: %s is %s", world, r.Rule, r.Activation)
			}
		}
	}
}
