package odrl_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl"
)

// load reads a policy leniently, without a world.
func load(t *testing.T, doc string) *odrl.Policy {
	t.Helper()
	p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{Lenient: true})
	if p == nil {
		t.Fatalf("%s\n%v", doc, problems)
	}
	return p
}

// set returns a Set of rules, with prefixes for terms and names.
func set(members ...string) string {
	return `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"ex":"http://example.org/"}],"type":"Set","uid":"http://example.org/policy",` + strings.Join(members, ",") + `}`
}

func evaluate(t *testing.T, p *odrl.Policy, question, world string, mode odrl.DutyMode) odrl.Evaluation {
	t.Helper()
	q, err := odrl.ParseQuestion([]byte(question), false)
	if err != nil {
		t.Fatal(err)
	}
	w, err := odrl.ParseWorldState([]byte(world))
	if err != nil {
		t.Fatal(err)
	}
	e, err := p.Evaluate(t.Context(), q, w, odrl.EvaluateOptions{DutyMode: mode})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const (
	aliceReads = `{"party":"http://example.org/alice","action":"read","target":"http://example.org/x"}`
	noWorld    = `{}`
	atNoon     = `{"currentTime":"2026-06-15T12:00:00Z"}`
)

func TestEvaluationAsJSON(t *testing.T) {
	p := load(t, set(`"permission":[{"uid":"ex:p","assignee":"ex:alice","action":"read","target":"ex:x","constraint":[{"uid":"ex:c","leftOperand":"dateTime","operator":"lt","rightOperand":{"@value":"2027-01-01T00:00:00Z","@type":"xsd:dateTime"}},
		{"leftOperand":"rateLimit","operator":"lteq","rightOperand":5,"unit":"hour"},{"leftOperand":"count","operator":"lteq","rightOperand":9,"unit":"month"}],
		"duty":{"action":[{"rdf:value":{"@id":"odrl:compensate"},"refinement":{"leftOperand":"payAmount","operator":"eq","rightOperand":"2.5","unit":"EUR"}}]}}]`))
	e := evaluate(t, p, aliceReads, atNoon, odrl.DutiesNotViolated)
	got, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for i := range e.Limits {
		got = []byte(strings.Replace(string(got), e.Limits[i].ID, "K", 1))
	}
	want := `{"decision":"permit","rule":"http://example.org/p","limits":[{"max":5,"period_s":3600,"key":"K"},{"max":9,"period_s":null,"calendar":"month","key":"K"}],` +
		`"charges":[{"amount":"2.50","currency":"EUR","rule":"/permission/0/duty"}],"duties":[{"rule":"/permission/0/duty","action":"compensate","of":"http://example.org/p"}],` +
		`"report":{"rules":[{"rule":"http://example.org/p","type":"Permission","activationState":"Active","premise":{"target":"Satisfied","party":"Satisfied","action":"Satisfied"},` +
		`"constraints":{"/permission/0/constraint/1":"Satisfied","/permission/0/constraint/2":"Satisfied","http://example.org/c":"Satisfied"}},` +
		`{"rule":"/permission/0/duty","type":"Duty","activationState":"Active","deonticState":"NonSet","premise":{"action":"Unsatisfied"},"constraints":{"/permission/0/duty/action/0/refinement":"Satisfied"}}]}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
