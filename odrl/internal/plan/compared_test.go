package plan

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"

	opa "github.com/open-policy-agent/opa/v1/ast"
)

// residualOf returns the plan of a policy that was not compared yet, and its residual.
func residualOf(t *testing.T, p *rules.Program, in *Inputs) (*Plan, *Residual) {
	t.Helper()
	left, err := partially(t.Context(), p.Engine.Compiler, p.Engine.Store, UsualBounds.Partial)
	if err != nil {
		t.Fatal(err)
	}
	made, err := newPlan(in, left)
	if err != nil {
		t.Fatal(err)
	}
	return made, left
}

// Two policies share the result of a comparison only if they are equal in everything that it depends on.
func TestCheckKeyHasEverythingThatDecides(t *testing.T) {
	type parts struct {
		p    *rules.Program
		in   *Inputs
		left *Residual
		most int
	}
	of := func() *parts {
		p, in := compiled(t)
		p.Rules = maps.Clone(p.Rules)
		_, left := residualOf(t, p, in)
		return &parts{p, in, left, 1000}
	}
	key := func(x *parts) [32]byte { return checkKey(x.p, x.in, x.left, x.most) }
	want := key(of())
	if key(of()) != want {
		t.Fatal("equal policies have different keys")
	}
	agent := func(iri, key string) []agentTerm { return []agentTerm{{rules.AgentName{IRI: iri, KeyID: key}, nil}} }
	seen := map[[32]byte]string{want: "the policy itself"}
	for name, change := range map[string]func(*parts){
		"residual": func(x *parts) { x.left.Result = opa.NewObject() },
		"rule of the residual": func(x *parts) {
			x.left.Modules = append(x.left.Modules, opa.MustParseModule("package partial.more"))
		},
		"data":                 func(x *parts) { x.p.Engine.Data = map[string]any{"policy": map[string]any{}} },
		"targets":              func(x *parts) { x.in.targets["example.com:search:v1"] = opa.ArrayTerm() },
		"intent":               func(x *parts) { x.in.targets["example.com:buy:v1"] = x.in.targets["example.com:search:v1"] },
		"agent":                func(x *parts) { x.in.agents["a"] = agent("http://example.com/a", "") },
		"other agent":          func(x *parts) { x.in.agents["b"] = agent("http://example.com/a", "") },
		"agent with a key":     func(x *parts) { x.in.agents["a"] = agent("http://example.com/a", "k") },
		"operand of a slot":    func(x *parts) { x.in.Slots[0].Operand = "industry" },
		"form of a slot":       func(x *parts) { x.in.Slots[0].As = "clock" },
		"number of leaves":     func(x *parts) { x.p.Leaves = nil },
		"id of a leaf":         func(x *parts) { x.p.Leaves[0].ID += "0" },
		"slot of a leaf":       func(x *parts) { x.p.Leaves[0].Slot.Operand = "industry" },
		"kind of a leaf":       func(x *parts) { x.p.Leaves[0].Kind = "number" },
		"operator of a leaf":   func(x *parts) { x.p.Leaves[0].Operator = "neq" },
		"value of a leaf":      func(x *parts) { x.p.Leaves[0].Value = "b" },
		"type of a value":      func(x *parts) { x.p.Leaves[0].Value = []any{"a"} },
		"window of a leaf":     func(x *parts) { x.p.Leaves[0].Window = true },
		"begin of a window":    func(x *parts) { x.p.Leaves[0].From = 1 },
		"end of a window":      func(x *parts) { x.p.Leaves[0].To = 1 },
		"place of a leaf":      func(x *parts) { x.p.Leaves[0].Source = &model.Constraint{Pointer: "/other"} },
		"number of rules":      func(x *parts) { x.p.Rules[99] = &rules.Rule{} },
		"bound on comparisons": func(x *parts) { x.most++ },
	} {
		x := of()
		change(x)
		got := key(x)
		if other, ok := seen[got]; ok {
			t.Errorf("a change of the %s gives the key of %s", name, other)
		}
		seen[got] = name
	}
	if n := reflect.TypeFor[rules.Leaf]().NumField(); n != 12 {
		t.Errorf("a leaf has %d fields instead of 12: add a field that checked reads to checkedLeaf", n)
	}
}

// A difference from OPA is found although the right plan of the same policy has been compared, and it is found again the next time.
func TestPlansAreComparedByContent(t *testing.T) {
	p, in := compiled(t)
	if made, _, err := Compile(t.Context(), p, in, UsualBounds); made == nil {
		t.Fatal(err)
	}
	_, left := residualOf(t, p, in)
	changed := false
	for i, m := range left.Modules {
		text := strings.ReplaceAll(m.String(), `"a"`, `"b"`)
		changed = changed || text != m.String()
		left.Modules[i] = opa.MustParseModule(text)
	}
	if !changed {
		t.Fatalf("the residual does not test for a: %v", left.Modules)
	}
	wrong, err := newPlan(in, left)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := checkedOnce(t.Context(), p, in, left, wrong, UsualBounds.Compared); !errors.Is(err, errDiffers) {
			t.Errorf("a plan that tests for b instead of a: %v, want %v", err, errDiffers)
		}
	}
}

// The second comparison of equal plans takes no step of OPA, and one that was stopped does not count.
func TestEqualPlansAreComparedOnce(t *testing.T) {
	const most = 123_456 // no other test compares with this bound
	p, in := compiled(t)
	made, left := residualOf(t, p, in)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := checkedOnce(stopped, p, in, left, made, most); !errors.Is(err, errUncertain) {
		t.Errorf("a stopped comparison: %v, want %v", err, errUncertain)
	}
	if err := checkedOnce(t.Context(), p, in, left, made, most); err != nil {
		t.Fatal(err)
	}
	p, in = compiled(t)
	made, left = residualOf(t, p, in)
	if err := checkedOnce(stopped, p, in, left, made, most); err != nil {
		t.Errorf("an equal plan was compared again: %v", err)
	}
}
