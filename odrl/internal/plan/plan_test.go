package plan

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"

	opa "github.com/open-policy-agent/opa/v1/ast"
)

// newPlan must reject a residual that needs more than a plan supports.
func TestNewPlanRejectsUnsupportedResiduals(t *testing.T) {
	module := func(body string) *Residual {
		m, err := opa.ParseModuleWithOpts("x.rego",
			"package partial.uimgate.odrl\n\nactive contains 1 if { "+body+" }\n\nhelper(x) if x == 1\n\nother := 5\n\nloop(x) if data.partial.uimgate.odrl.loop(x)\n", opa.ParserOptions{RegoVersion: opa.RegoV1})
		if err != nil {
			t.Fatal(body, err)
		}
		result := opa.MustParseTerm(`{"outcome": {"active": data.partial.uimgate.odrl.active}}`)
		o, _ := result.Value.(opa.Object)
		return &Residual{Result: o, Modules: []*opa.Module{m}}
	}
	for body, want := range map[string]string{
		`input.parties[_] == "a"`: "",
		`"a" in input.parties`:    "",
		`not data.partial.uimgate.odrl.helper(x); x := input.parties[_]`: "",
		`[x, y] = input.facts.a; x < y; count(input.facts.b) > 0`:        "",
		`startswith(input.proof, concat("", ["a", "-"]))`:                "",
		`input.facts.a[i] == input.facts.b[i]`:                           "",
		`regex.match("a", input.proof)`:                                  "the built-in regex.match",
		`lower(input.proof) == "a"`:                                      "the",
		`input.proof == sprintf("%v", [1])`:                              "the built-in sprintf",
		`every x in input.parties { x == "a" }`:                          "the expression",
		`count({x | some x in input.parties}) > 1`:                       "the",
		`input.other == 1`:                                               "the reference input.other",
		`input.facts == {}`:                                              "the reference input.facts",
		`input.proof == 1 with input.proof as 2`:                         "the expression",
		`data.partial.uimgate.odrl.other == input.facts.a`:               "the",
		`data.partial.uimgate.odrl.loop(input.proof)`:                    "the recursive rule",
		`data.partial.uimgate.odrl.missing`:                              "the reference",
		`input.facts.a == 1.5`:                                           "the term",
	} {
		in := &Inputs{Slots: []PolicySlot{
			{FactSlot: rules.FactSlot{Slot: rules.Slot{Operand: "a"}}},
			{FactSlot: rules.FactSlot{Slot: rules.Slot{Operand: "b"}}},
		}}
		made, err := newPlan(in, module(body))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", body, err)
		case want != "" && (err == nil || made != nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
	r := module(`data.uimgate.odrl.holds_0.c0`)
	if err := r.closed(); err == nil || !strings.Contains(err.Error(), "data.uimgate.odrl.holds_0") {
		t.Errorf("a reference to the module itself: %v, want an error that contains %q", err, "data.uimgate.odrl.holds_0")
	}
	big := module(`input.proof == "` + strings.Repeat("a", maxResidual) + `"`)
	if err := big.closed(); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("too large: %v, want an error that contains %q", err, "more than")
	}
}

// A plan whose answers differ from OPA's is rejected.
func TestWrongPlanIsRejected(t *testing.T) {
	p, in := compiled(t)
	made, _, err := Compile(t.Context(), p, in, UsualBounds)
	if err != nil {
		t.Fatal(err)
	}
	breakings := 0
	for _, s := range made.sets {
		for i := range s.entries {
			breakings++
			right := s.entries[i].when
			for name, wrong := range map[string]*formula{
				"always": {op: fAlways, memo: -1}, "never": {op: fNever, memo: -1},
				"not": {op: fNone, kids: []*formula{right}, memo: -1},
			} {
				s.entries[i].when = wrong
				if err := checked(t.Context(), p, in, made, UsualBounds.Compared); err == nil {
					t.Errorf("replacing %s %s with %s is not detected", s.answer, s.name, name)
				}
			}
			s.entries[i].when = right
		}
	}
	if breakings < 4 {
		t.Errorf("got %d entries, want at least 4", breakings)
	}
}

// compiled returns a policy with one permission under one constraint, and its Inputs.
func compiled(t *testing.T) (*rules.Program, *Inputs) {
	t.Helper()
	doc := `{"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"http://example.com/p","permission":{"target":"http://example.com/api/intents",` +
		`"action":"execute","constraint":[{"leftOperand":"purpose","operator":"eq","rightOperand":"a"}]}}`
	var found model.Findings
	tree, _ := model.DecodeTree([]byte(doc), &found).(map[string]any)
	w := rules.World{Hosts: []string{"example.com"}, Intents: []rules.Asset{{
		UID: "example.com:search:v1", Namespace: "example.com",
		Name: "search",
	}}}
	p := rules.Compile(t.Context(), tree, w, &found)
	if p == nil {
		t.Fatal(found.List)
	}
	return p, NewInputs(p)
}
