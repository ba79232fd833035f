package odrl

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/plan"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// Decide returns whether the agent may execute the intent now, and the permissions that permit it. It uses no clock, counter or network:
// equal Requests give equal results. If Decide returns an error, the Decision is zero, which denies. Decisions share their slices: callers
// must not modify them.
func (p *Policy) Decide(ctx context.Context, r Request) (Decision, error) {
	if !p.names(r.Intent) {
		return Decision{Reason: reason.PolicyNotApplicable, Detail: "the policy has no rule for this intent", Facts: p.factsRead(r)}, nil
	}
	if d, ok := p.planned(&r); ok {
		out := *d
		out.Candidates, out.Facts = p.carried(r.Intent, d.Candidates), p.factsRead(r)
		return out, nil
	}
	d, err := p.decideByOPA(ctx, &r)
	if err != nil {
		return Decision{}, err
	}
	d.Engine, d.Candidates, d.Facts = EngineOPA, p.carried(r.Intent, d.Candidates), p.factsRead(r)
	return *d, nil
}

// names reports whether a rule of the policy concerns the intent.
func (p *Policy) names(intent string) bool {
	return p.program != nil && p.program.Targets[intent] != nil
}

// planned decides with the plan. It returns false if there is no plan, or if the plan cannot decide this request.
func (p *Policy) planned(r *Request) (*Decision, bool) {
	made := p.plan
	if made == nil {
		return nil, false
	}
	in := made.Intents[r.Intent]
	if in == nil {
		return nil, false
	}
	f := made.Frame()
	defer made.Done(f)
	made.Fill.Fill(f, (*plan.Request)(r), in)
	f.Run(in.Outcome)
	known, ok := p.memo.get(f.Key(false))
	if ok && known.wanting {
		f.Run(in.Reasons)
		known, ok = p.memo.get(f.Key(true))
	}
	if f.Failed {
		return nil, false
	}
	if ok {
		return known.decision, true
	}
	wanting := false
	d, err := p.assemble(made.Answer(f, "outcome"), func() (ast.Object, error) {
		p.memo.put(f.Key(false), memoEntry{wanting: true})
		wanting = true
		f.Run(in.Reasons)
		return made.Answer(f, "reasons"), nil
	})
	if err != nil || f.Failed {
		return nil, false
	}
	d.Engine = EnginePlan
	p.memo.put(f.Key(wanting), memoEntry{decision: d})
	return d, true
}

// decideByOPA decides with a query to OPA.
func (p *Policy) decideByOPA(ctx context.Context, r *Request) (*Decision, error) {
	in := p.inputs.Document((*plan.Request)(r), false)
	o, err := rules.Ask(ctx, &p.program.Engine.Outcome, in)
	if err != nil {
		return nil, err
	}
	return p.assemble(o, func() (ast.Object, error) { return rules.Ask(ctx, &p.program.Engine.Reasons, in) })
}

// assemble builds a Decision from the outcome of the semantics module. It calls reasons only if no permission applies.
func (p *Policy) assemble(outcome ast.Object, reasons func() (ast.Object, error)) (*Decision, error) {
	active, err := rules.NumbersIn(outcome, "active")
	if err != nil {
		return nil, err
	}
	unmet, err := rules.NumbersIn(outcome, "unmet")
	if err != nil {
		return nil, err
	}
	f := p.sort(active)
	d := &Decision{ForbidsExceeding: f.forbidsExceeding}
	winner, overruled := p.settle(f)
	switch {
	case overruled == reason.PolicyConflict:
		d.Reason, d.Rule, d.Detail = overruled, winner.Node.Name(), "the policy both permits and prohibits this call"
	case len(unmet) > 0:
		if err := p.unfulfilled(least(unmet), outcome, d); err != nil {
			return nil, err
		}
	case overruled != "":
		d.Reason, d.Rule, d.Detail = overruled, winner.Node.Name(), "the policy prohibits this call"
	case len(f.permissions) == 0:
		o, err := reasons()
		if err != nil {
			return nil, err
		}
		if err := p.explain(o, d); err != nil {
			return nil, err
		}
	default:
		d.Permit = true
		if d.Candidates, err = f.candidates(active); err != nil {
			return nil, err
		}
		d.Rule = d.Candidates[0].Rule
		d.Duties = f.owed(active)
	}
	return d, nil
}

// unfulfilled denies because of obligation n, which this call does not fulfil or, after the deadline, no call can fulfil.
func (p *Policy) unfulfilled(n int, outcome ast.Object, d *Decision) error {
	late, err := rules.NumbersIn(outcome, "late")
	if err != nil {
		return err
	}
	r, ok := p.program.Rules[n]
	if !ok {
		return rules.ErrUndefined
	}
	d.Reason, d.Rule, d.Detail = reason.PolicyRequiresVerification, r.Node.Name(), proofDetail
	if late[n] {
		d.Detail = lateDetail
		if r.Node.Does("compensate") && !r.Node.Does("signPayload") {
			d.Reason = reason.PolicyRequiresPayment
		}
	}
	return nil
}

const lateDetail = "the deadline of a duty of the policy has passed: the duty can no longer be fulfilled"

const proofDetail = "the call must carry a proof signed with the agreed key"

// A finding holds the rules that apply to one request. Each list is in document order.
type finding struct {
	permissions      []*rules.Rule
	prohibitions     []*rules.Rule // without the bounds
	bounds           []*rules.Rule // prohibitions that only limit the number of calls
	obligations      []*rules.Rule
	forbidsExceeding bool
}

// sort looks up the rules that Rego found active, so that a permit always names an existing rule.
func (p *Policy) sort(active map[int]bool) *finding {
	f := &finding{}
	for _, n := range sortedNumbers(active) {
		r, ok := p.program.Rules[n]
		switch {
		case !ok: // a duty of a permission
		case r.Kind == model.Permission:
			f.permissions = append(f.permissions, r)
		case r.Kind == model.Obligation:
			f.obligations = append(f.obligations, r)
		case r.Exceeding():
			f.forbidsExceeding = true
		case r.Bounds():
			f.bounds = append(f.bounds, r)
		default:
			f.prohibitions = append(f.prohibitions, r)
		}
	}
	return f
}

// settle applies the conflict strategy (ODRL IM 2.10). It returns the prohibition that applies and the Reason to deny. If no prohibition
// applies, or a permission takes precedence, it returns nil and an empty Reason.
func (p *Policy) settle(f *finding) (*rules.Rule, reason.Reason) {
	switch {
	case len(f.prohibitions) == 0:
		return nil, ""
	case len(f.permissions) == 0 || p.program.Strategy == model.ProhibitionWins:
		return f.prohibitions[0], reason.PolicyViolation
	case p.program.Strategy == model.PermissionWins:
		return nil, ""
	default:
		return f.prohibitions[0], reason.PolicyConflict
	}
}

// candidates returns a Candidate for each permission, best first; see rank.
func (f *finding) candidates(active map[int]bool) ([]Candidate, error) {
	list := make([]Candidate, 0, len(f.permissions))
	for _, r := range f.permissions {
		c := Candidate{Rule: r.Node.Name(), Limits: slices.Clone(r.Limits), Plans: r.Plans, permission: r}
		for _, b := range f.bounds {
			for _, l := range b.Limits {
				c.Limits = rules.AddLimit(c.Limits, l)
			}
		}
		var ok bool
		for _, d := range f.due(r, active) {
			if c.Charge, ok = rules.Sum(c.Charge, d.Charge); !ok {
				return nil, fmt.Errorf("the charges of %s cannot be added: their currencies differ, or the sum is too large", c.Rule)
			}
		}
		list = append(list, c)
	}
	rank(list, func(c Candidate) cost {
		asks := cost{price: big.NewRat(c.Charge.Nano, 1), limits: len(c.Limits)}
		if !c.Charge.IsZero() {
			asks.currencies = []string{c.Charge.Currency}
		}
		return asks
	})
	return list, nil
}

// due returns the duties that are owed under r now: those of r itself and the obligations of the policy.
func (f *finding) due(r *rules.Rule, active map[int]bool) []*rules.Duty {
	var list []*rules.Duty
	for _, d := range r.Duties {
		if d.Unconditional() || active[d.N] {
			list = append(list, d)
		}
	}
	for _, o := range f.obligations {
		list = append(list, o.Duties[0])
	}
	return list
}

// owed returns the duties, except payment and signing, of every permission that applies. Which permission is used is decided later, and
// fulfilling a duty that turns out not to be owed does no harm.
func (f *finding) owed(active map[int]bool) []Duty {
	var list []Duty
	for _, r := range f.permissions {
		for _, d := range f.due(r, active) {
			if d.Action == "compensate" || d.Action == "signPayload" {
				continue
			}
			owed := Duty{Rule: d.Node.Name(), Action: d.Action, Notice: d.Node.Notice}
			if !slices.Contains(list, owed) {
				list = append(list, owed)
			}
		}
	}
	return list
}

// factsRead returns the values of the operands that the policy reads, for the audit record.
func (p *Policy) factsRead(r Request) map[string]any {
	if p.program == nil || len(p.program.Slots) == 0 {
		return nil
	}
	m := map[string]any{}
	for _, s := range p.program.Slots {
		switch v, ok := r.Facts[s.Operand]; {
		case s.Operand == "dateTime":
			m["dateTime"] = r.Now.UTC().Format(time.RFC3339Nano)
		case s.Operand == "version":
			m["version"] = model.VersionOf(r.Intent)
		case ok:
			m[s.Operand] = v
		}
	}
	return m
}

func sortedNumbers(m map[int]bool) []int { return slices.Sorted(maps.Keys(m)) }

func least(m map[int]bool) int { return sortedNumbers(m)[0] }
