package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

var (
	errDiffers   = errors.New("the plan and OPA disagree")
	errUncertain = errors.New("comparing the plan with OPA")
)

// A planCheck compares a plan with OPA. It first compares each constraint alone, with values around its right operand and with facts that
// are missing or of a wrong type. It then compares whole rules, with combinations of these values.
type planCheck struct {
	program *rules.Program
	inputs  *Inputs
	plan    *Plan
	leaves  map[string][2][]planEntry // id → entries of holds, entries of fails
	steps   *rules.Steps
}

// checked compares a plan with OPA in at most maxSteps steps. It returns nil if they agree.
func checked(ctx context.Context, p *rules.Program, in *Inputs, made *Plan, maxSteps int) error {
	leaves := p.Leaves
	c := &planCheck{program: p, inputs: in, plan: made, leaves: map[string][2][]planEntry{}, steps: rules.NewSteps(ctx, maxSteps)}
	c.index()
	facts, err := c.constraints(leaves)
	if err == nil {
		err = c.rules(facts, len(leaves))
	}
	if err == nil {
		err = c.requests()
	}
	switch {
	case c.steps.Exhausted():
		return fmt.Errorf("%w takes more than %d steps", errUncertain, maxSteps)
	case ctx.Err() != nil:
		return fmt.Errorf("%w was stopped", errUncertain)
	}
	return err
}

// index groups the entries of the plan by constraint.
func (c *planCheck) index() {
	for i := range c.plan.sets {
		s := &c.plan.sets[i]
		if s.answer != "leaves" {
			continue
		}
		for _, e := range s.entries {
			id, _ := s.heads[e.bit-s.first].Value.(ast.String)
			both := c.leaves[string(id)]
			at := 0
			if s.name == "fails" {
				at = 1
			}
			both[at] = append(both[at], e)
			c.leaves[string(id)] = both
		}
	}
}

// constraints compares each constraint, and returns the values that it tried, by slot.
func (c *planCheck) constraints(leaves []*rules.Leaf) (map[string][]ast.Value, error) {
	facts, seen := map[string][]ast.Value{}, map[string]bool{}
	for _, l := range leaves {
		slot := l.Slot.Key()
		same := fmt.Sprint(slot, " ", l.Kind, " ", l.Operator)
		value := fmt.Sprint(same, " ", l.Value, " ", l.From, " ", l.To)
		if seen[value] {
			continue
		}
		seen[value] = true
		tried := boundaries(l)
		facts[slot] = append(facts[slot], tried...)
		if !seen[same] {
			seen[same] = true
			tried = append(tried, wrong(tried)...)
		}
		for _, fact := range append(tried, nil) {
			if err := c.constraint(l, slot, fact); err != nil {
				return nil, err
			}
		}
	}
	return facts, nil
}

func (c *planCheck) constraint(l *rules.Leaf, slot string, fact ast.Value) error {
	facts := ast.NewObject()
	if fact != nil {
		facts.Insert(ast.StringTerm(slot), ast.NewTerm(fact))
	}
	id := ast.StringTerm(l.ID)
	input := ast.NewObject([2]*ast.Term{ast.StringTerm("leaves"), ast.ArrayTerm(id)}, [2]*ast.Term{KeyFacts, ast.NewTerm(facts)})
	want, err := c.steps.Ask(&c.program.Engine.Leaves, input)
	if err != nil {
		return fmt.Errorf("%w: %w", errUncertain, err)
	}
	f := c.plan.Frame()
	defer c.plan.Done(f)
	if !c.plan.Load(f, input) {
		return nil // only OPA can evaluate this input
	}
	for at, name := range []string{"holds", "fails"} {
		f.Run(c.leaves[l.ID][at])
		planned := false
		for _, e := range c.leaves[l.ID][at] {
			planned = planned || f.has(e.bit)
		}
		set, _ := want.Get(ast.StringTerm(name)).Value.(ast.Set)
		if !f.Failed && (set == nil || planned != set.Contains(id)) {
			return fmt.Errorf("%w about %s", errDiffers, l.Source.Pointer)
		}
	}
	return nil
}

// A circumstance is the part of a request other than the facts.
type circumstance map[string]ast.Value

// rules compares whole results. It compares fewer of them for a larger policy; the first ones find most differences.
func (c *planCheck) rules(facts map[string][]ast.Value, leaves int) error {
	const least, most, work = 12, 400, 5_000
	usual, odd := c.circumstances()
	runs := len(odd)
	for _, list := range facts {
		runs = max(runs, 2*len(list)*len(usual))
	}
	runs = min(runs+2, max(least, min(most, work/(1+leaves+len(c.program.Rules)))))
	for i := range runs {
		given := ast.NewObject()
		for n, slot := range model.SortedKeys(facts) {
			list := facts[slot]
			switch at := i - 2; {
			case i == 0: // absent
			case i == 1: // null
				given.Insert(ast.StringTerm(slot), ast.NullTerm())
			case at%2 == 0: // all slots advance together
				given.Insert(ast.StringTerm(slot), ast.NewTerm(list[at/2/len(usual)%len(list)]))
			default: // each slot advances at its own pace
				given.Insert(ast.StringTerm(slot), ast.NewTerm(list[(at/2*(n+1)+n)%len(list)]))
			}
		}
		for _, in := range []circumstance{usual[i/2%len(usual)], odd[i%len(odd)]} {
			input := ast.NewObject([2]*ast.Term{KeyFacts, ast.NewTerm(given)})
			for k, v := range in {
				input.Insert(ast.StringTerm(k), ast.NewTerm(v))
			}
			if err := c.whole(input, i%2 == 0 || runs > 2*least); err != nil {
				return err
			}
		}
	}
	return nil
}

// circumstances returns combinations of targets, parties and keys. The usual ones are like most requests: the agent is every party and
// signs with the required key. The odd ones are other combinations, including some that no request can have.
func (c *planCheck) circumstances() (usual, odd []circumstance) {
	text := func(list ...string) *ast.Array {
		terms := make([]*ast.Term, 0, len(list))
		for _, s := range list {
			terms = append(terms, ast.StringTerm(s))
		}
		return ast.NewArray(terms...)
	}
	const most = 16
	var targets []ast.Value
	seen := map[string]bool{}
	for _, uid := range model.SortedKeys(c.inputs.targets) {
		list := c.inputs.targets[uid]
		if s := list.String(); !seen[s] && len(targets) < most {
			seen[s] = true
			targets = append(targets, list.Value)
		}
	}
	intents := len(targets)
	targets = append(targets, text(), ast.String(rules.Everyone), nil)
	names := []string{rules.Everyone}
	for _, agent := range model.SortedKeys(c.inputs.agents) {
		for _, party := range c.inputs.agents[agent] {
			names = append(names, party.IRI)
		}
	}
	parties := []ast.Value{text(rules.Everyone), text(names...), text(names[1:]...), ast.NewArray(ast.NullTerm()), nil}
	keys := []ast.Value{nil, ast.String("a key"), ast.String("another"), ast.Number("1")}
	for _, key := range model.SortedKeys(c.plan.Fill.keys) {
		if len(keys) < most {
			keys = append(keys, ast.String(c.plan.Fill.keys[key]))
		}
	}
	for i := range max(intents, 1) {
		key := keys[1+i%(len(keys)-1)]
		usual = append(usual, circumstance{"targets": targets[i], "parties": parties[1], "proof": key, "agent": key})
	}
	for i := range max(len(targets)*2, len(parties)*3, len(keys)*4) {
		in := circumstance{}
		for k, v := range map[string]ast.Value{
			"targets": targets[i%len(targets)], "parties": parties[(i+i/len(targets))%len(parties)],
			"proof": keys[i%len(keys)], "agent": keys[(i+i/len(keys))%len(keys)],
		} {
			if v != nil {
				in[k] = v
			}
		}
		odd = append(odd, in)
	}
	return usual, odd
}

// whole compares the outcome for one input document and, if reasons is set, the reasons.
func (c *planCheck) whole(input ast.Object, reasons bool) error {
	f := c.plan.Frame()
	defer c.plan.Done(f)
	if !c.plan.Load(f, input) {
		return nil // only OPA can evaluate this input
	}
	c.plan.Run(f, "outcome")
	if err := c.same(f, input, "outcome", &c.program.Engine.Outcome); err != nil || !reasons {
		return err
	}
	c.plan.Run(f, "reasons")
	return c.same(f, input, "reasons", &c.program.Engine.Reasons)
}

func (c *planCheck) same(f *Frame, input ast.Value, answer string, q *rego.PreparedEvalQuery) error {
	if f.Failed {
		return nil // only OPA can evaluate this input
	}
	want, err := c.steps.Ask(q, input)
	if err != nil {
		return fmt.Errorf("%w: %w", errUncertain, err)
	}
	if c.plan.Answer(f, answer).Compare(want) != 0 {
		return fmt.Errorf("%w about the %s", errDiffers, answer)
	}
	return nil
}

// requests compares the plan in the form that Decide uses: with only the rules of one intent, and with the facts of a request in a frame.
func (c *planCheck) requests() error {
	const most = 8
	agents := append([]string{""}, model.SortedKeys(c.inputs.agents)...)
	uids := model.SortedKeys(c.inputs.targets)
	if len(uids) == 0 {
		return nil
	}
	for i := range min(most, max(len(agents), len(uids))) {
		r := Request{
			AgentID: agents[i%len(agents)], Intent: uids[i*len(uids)/most%len(uids)],
			Now: time.Unix(0, 0).Add(time.Duration(i) * 5 * time.Hour),
		}
		if i%2 == 1 {
			r.AgentKey, r.ProofKey = []byte("a key"), []byte("a key")
		}
		for _, p := range c.inputs.agents[r.AgentID] {
			r.KeyID = p.KeyID
		}
		f := c.plan.Frame()
		in := c.plan.Intents[r.Intent]
		c.plan.Fill.Fill(f, &r, in)
		f.Run(in.Outcome)
		f.Run(in.Reasons)
		input := c.inputs.Document(&r, false)
		err := c.same(f, input, "outcome", &c.program.Engine.Outcome)
		if err == nil {
			err = c.same(f, input, "reasons", &c.program.Engine.Reasons)
		}
		c.plan.Done(f)
		if err != nil {
			return err
		}
	}
	return nil
}

// boundaries returns facts at which the result of the constraint may change.
func boundaries(l *rules.Leaf) []ast.Value {
	if l.Window {
		var list []ast.Value
		for _, n := range []int64{l.From - 1, l.From, l.To - 1, l.To} {
			list = append(list, ast.NewArray(IntTerm(n)))
		}
		return list
	}
	values, several := l.Value.([]any)
	if slices.Contains([]string{"version", "ordered", "duration"}, l.Kind) && several && len(values) > 0 {
		if _, nested := values[0].([]any); !nested {
			values = []any{l.Value}
		}
	} else if !several {
		values = []any{l.Value}
	}
	var list []ast.Value
	var every []*ast.Term
	for _, v := range values {
		around := around(v)
		for _, t := range around {
			list = append(list, ast.NewArray(t))
		}
		if len(around) > 0 {
			every = append(every, around[0])
			list = append(list, ast.NewArray(around[0], around[len(around)-1]))
		}
	}
	if len(every) > 1 {
		list = append(list, ast.NewArray(every...), ast.NewArray(every[1:]...))
	}
	return list
}

// around returns the value itself, followed by its neighbours.
func around(v any) []*ast.Term {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			return nil
		}
		return []*ast.Term{IntTerm(n), IntTerm(n - 1), IntTerm(n + 1)}
	case string:
		list := []*ast.Term{ast.StringTerm(v), ast.StringTerm(v + "-1"), ast.StringTerm(v + "1"), ast.StringTerm("")}
		if whole, _, ok := strings.Cut(v, "-"); ok {
			list = append(list, ast.StringTerm(whole))
		}
		return append(list, ast.StringTerm("\x00"))
	case []any:
		var list []*ast.Term
		for i := range v {
			n, ok := v[i].(json.Number)
			at, err := n.Int64()
			if !ok || err != nil {
				return nil
			}
			for _, to := range []int64{at, at - 1, at + 1} {
				parts := slices.Clone(v)
				parts[i] = model.Integer(to)
				list = append(list, ast.NewTerm(ast.MustInterfaceToValue(parts)))
			}
		}
		return list
	default:
		return nil
	}
}

// wrong returns facts of types other than the constraint's, alone and together with right ones.
func wrong(right []ast.Value) []ast.Value {
	odd := []*ast.Term{
		ast.NullTerm(), ast.InternedTerm(true), IntTerm(5), ast.StringTerm("5"), ast.ArrayTerm(), ast.ArrayTerm(IntTerm(1), IntTerm(0)),
		ast.ArrayTerm(ast.StringTerm("1"), ast.NullTerm(), IntTerm(0)), ast.ObjectTerm(),
		ast.ObjectTerm([2]*ast.Term{ast.StringTerm("k"), ast.StringTerm("5")}),
	}
	list := []ast.Value{ast.NewArray()}
	for _, t := range odd {
		list = append(list, t.Value, ast.NewArray(t))
		if len(right) > 0 {
			if a, ok := right[0].(*ast.Array); ok {
				list = append(list, a.Append(t), ast.NewObject([2]*ast.Term{ast.StringTerm("k"), a.Elem(0)}))
			}
		}
	}
	return list
}
