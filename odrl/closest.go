package odrl

import (
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// closest explains in ev why nothing is permitted. It describes a permission that waits only for its duties or, if there is none, the
// permission that concerns the question with the fewest unsatisfied constraints.
func (v *verdict) closest(ev *Evaluation) {
	ev.deny(reason.PolicyNotApplicable, nil, "no permission of the policy covers this")
	best, lacks := -1, []string(nil)
	var waits *rules.Entry
	for _, x := range v.e.Entries {
		if x.Kind != "permission" || !v.about(x) {
			continue
		}
		missing := v.missing(x)
		if len(missing) == 0 && waits == nil {
			waits = x
		}
		if best < 0 || len(missing) < len(lacks) {
			best, lacks = x.N, missing
		}
	}
	if why := v.e.GrantsNothing(); best >= 0 && why != "" {
		ev.Detail = why
	}
	if best < 0 || !v.e.Grants() {
		return
	}
	ev.Rule = v.e.Entries[best].Node.Name()
	if waits == nil {
		slices.Sort(lacks)
		ev.Detail = "the closest permission requires " + strings.Join(lacks[:min(len(lacks), 5)], "; ")
		return
	}
	ev.Rule = waits.Node.Name()
	v.waiting(ev, waits)
}

// waiting describes in ev the duties that a permission waits for, or the limit that the question's own count exceeds.
func (v *verdict) waiting(ev *Evaluation, x *rules.Entry) {
	late := false
	for _, d := range v.duties(x) {
		if !v.sets["blocking"][d.N] {
			continue
		}
		ev.Detail = "a duty of the permission is not fulfilled"
		ev.Duties = append(ev.Duties, Due{Rule: d.Node.Name(), Action: actionOf(d), Of: x.Node.Name()})
		switch {
		case signs(d):
			ev.Reason, ev.Detail = reason.PolicyRequiresVerification, proofDetail
		case pays(d) && ev.Reason == reason.PolicyNotApplicable:
			ev.Reason, ev.Detail = reason.PolicyRequiresPayment, "the policy requires a payment first"
		}
		late = late || v.sets["late"][d.N]
		ev.Charges = append(ev.Charges, owes(d)...)
	}
	if late {
		ev.Detail = lateDetail
		return
	}
	if c := v.over(x); c != nil && ev.Reason == reason.PolicyNotApplicable {
		ev.Reason, ev.Detail = reason.QuotaExceeded, "the closest permission requires "+c.String()
		if c.Unit.IRI != "" || c.Operand == "rateLimit" {
			ev.Reason = reason.RateLimitExceeded
		}
	}
}

func actionOf(x *rules.Entry) string {
	if len(x.Node.Actions) > 0 {
		return x.Node.Actions[0].Name
	}
	return ""
}

// about reports whether the question matches the action, the target and the party of a rule.
func (v *verdict) about(x *rules.Entry) bool {
	return !slices.ContainsFunc([]string{"action", "target", "party"}, func(part string) bool {
		return x.Data[part] != nil && !v.premise[premiseKey(x.N, part)]
	})
}

// bounds reports whether a constraint is a limit on the use of the rule, and not a condition.
func (v *verdict) bounds(x *rules.Entry, c *model.Constraint) bool {
	return v.e.Limiting(c, x.Node.Kind)
}

// over returns a limit that the question's own count exceeds, or nil.
func (v *verdict) over(x *rules.Entry) *model.Constraint {
	for _, c := range conditionsOf(x) {
		if id, _ := v.e.IDOf(c); v.bounds(x, c) && v.s.counted(v.e, c) && !v.holds[id] {
			return c
		}
	}
	return nil
}

// missing describes the constraints of a permission that do not hold. If several of its actions match, missing uses the action with the
// fewest such constraints.
func (v *verdict) missing(x *rules.Entry) []string {
	shared := slices.Clone(x.Node.Constraints)
	for _, ref := range slices.Concat(x.Node.Targets, x.Parties) {
		shared = append(shared, ref.Refinements...)
	}
	if len(x.Node.Actions) == 0 {
		return v.lacking(x, shared)
	}
	var least []string
	first := true
	for _, a := range x.Node.Actions {
		if !slices.Contains(v.s.names["action"], a.Name) {
			continue
		}
		if list := v.lacking(x, slices.Concat(shared, a.Refinements)); first || len(list) < len(least) {
			least, first = list, false
		}
	}
	return least
}

func (v *verdict) lacking(x *rules.Entry, list []*model.Constraint) []string {
	var missing []string
	for _, c := range model.Flatten(list) {
		if id, ok := v.e.IDOf(c); ok && !v.holds[id] && !v.bounds(x, c) {
			missing = append(missing, c.String()+v.uncounted(x, c))
		}
	}
	return missing
}

// uncounted explains why a count among the conditions cannot be enforced as a limit. It returns "" if there is no such count, or if the
// question decides it nevertheless.
func (v *verdict) uncounted(x *rules.Entry, conditions ...*model.Constraint) string {
	for _, u := range rules.Uncounted(v.e.Names, conditions, x.Node.Kind) {
		if id, ok := v.e.IDOf(u.Constraint); ok && !v.holds[id] && !v.fails[id] {
			return ": " + u.Message
		}
	}
	return ""
}

// conditionsOf returns the constraints and refinements of a rule, with conjunctions split.
func conditionsOf(x *rules.Entry) []*model.Constraint {
	list := slices.Clone(x.Node.Constraints)
	for _, a := range x.Node.Actions {
		list = append(list, a.Refinements...)
	}
	for _, ref := range slices.Concat(x.Node.Targets, x.Parties) {
		list = append(list, ref.Refinements...)
	}
	return model.Flatten(list)
}
