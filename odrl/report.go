package odrl

import (
	"cmp"

	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// report returns a report on every rule and duty of the document.
func (v *verdict) report() []RuleReport {
	list := make([]RuleReport, 0, len(v.e.Entries))
	for _, x := range v.e.Entries {
		r := RuleReport{Rule: x.Node.Name(), Type: reportTypes[x.Node.Kind], Activation: Inactive, Constraints: map[string]State{}}
		if v.sets["active"][x.N] {
			r.Activation = Active
		}
		r.Deontic = v.deontic(x)
		r.Premise = v.premiseOf(x)
		for _, c := range x.Node.Constraints {
			v.states(r.Constraints, x, c)
		}
		for _, a := range x.Node.Actions {
			for _, c := range a.Refinements {
				v.states(r.Constraints, x, c)
			}
		}
		for _, refs := range [][]model.Reference{x.Node.Targets, x.Parties} {
			for _, ref := range refs {
				for _, c := range ref.Refinements {
					v.states(r.Constraints, x, c)
				}
			}
		}
		list = append(list, r)
	}
	return list
}

var reportTypes = map[model.RuleKind]string{
	model.Permission: "Permission", model.Prohibition: "Prohibition", model.Obligation: "Duty", model.DutyOfPermission: "Duty",
	model.Remedy: "Duty", model.Consequence: "Duty",
}

// deontic returns the state of a duty or a prohibition. It is empty for a permission.
func (v *verdict) deontic(x *rules.Entry) State {
	switch {
	case x.Kind == "permission":
		return ""
	case x.Kind == "prohibition":
		if v.sets["infringed"][x.N] && !v.remedied(x) {
			return Violated
		}
		return NonSet
	case v.sets["violated"][x.N]:
		return Violated
	case v.sets["fulfilled"][x.N]:
		return Fulfilled
	default:
		return NonSet
	}
}

// remedied reports whether every remedy of an infringed prohibition is fulfilled. See ODRL IM, section 2.6.6.
func (v *verdict) remedied(x *rules.Entry) bool {
	for _, node := range x.Node.Remedies {
		if !v.sets["fulfilled"][v.e.ByName[node.Name()].N] {
			return false
		}
	}
	return len(x.Node.Remedies) > 0
}

// premiseOf reports which parts of a rule the question matches. For a duty, action and target are satisfied if the duty is fulfilled.
func (v *verdict) premiseOf(x *rules.Entry) Premise {
	state := func(part string, stands bool) State {
		fits := x.Data[part] == nil || v.premise[premiseKey(x.N, part)] // a part that matches anything is not in the data
		if x.Node.Kind.Duty() && part != "party" {
			fits = v.sets["fulfilled"][x.N]
		}
		switch {
		case !stands:
			return ""
		case fits:
			return Satisfied
		default:
			return Unsatisfied
		}
	}
	return Premise{
		Target: state("target", len(x.Node.Targets) > 0), Party: state("party", len(x.Parties) > 0),
		Action: state("action", len(x.Node.Actions) > 0),
	}
}

// states adds the states of a constraint and of its operands. The kind of the rule decides how an unknown constraint counts; see
// RuleReport.
func (v *verdict) states(into map[string]State, x *rules.Entry, c *model.Constraint) {
	name := cmp.Or(c.UID, c.Pointer)
	var satisfied bool
	switch id, known := v.e.IDOf(c); {
	case v.bounds(x, c) && !v.s.counted(v.e, c): // a limit is named in the result and not compared
		satisfied = x.Node.Kind == model.Permission
	case !known:
		satisfied = v.conjunction(x, c)
	case x.Node.Kind == model.Permission:
		satisfied = v.holds[id]
	default:
		satisfied = !v.fails[id]
	}
	into[name] = Unsatisfied
	if satisfied {
		into[name] = Satisfied
	}
	for _, operand := range c.Operands {
		v.states(into, x, operand)
	}
}

// conjunction reports whether an "and" at the top level of a rule is satisfied. Such an "and" has no result, because the compiler replaces
// it with its operands.
func (v *verdict) conjunction(x *rules.Entry, c *model.Constraint) bool {
	for _, operand := range c.Operands {
		states := map[string]State{}
		v.states(states, x, operand)
		if states[cmp.Or(operand.UID, operand.Pointer)] != Satisfied {
			return false
		}
	}
	return len(c.Operands) > 0
}
