package odrl

import (
	"slices"
	"strings"
)

// closest says why nothing is permitted: the permission that is about the question and lacks the least.
func (v *verdict) closest(ev *Evaluation) {
	ev.deny(PolicyNotApplicable, nil, "no permission of the policy covers this")
	best, lacks := -1, []string(nil)
	var waits *entry
	for _, x := range v.e.entries {
		if x.kind != "permission" || !v.about(x) {
			continue
		}
		missing := v.missing(x)
		if len(missing) == 0 && waits == nil {
			waits = x
		}
		if best < 0 || len(missing) < len(lacks) {
			best, lacks = x.n, missing
		}
	}
	if best < 0 || !v.e.grants() {
		return
	}
	ev.Rule = v.e.entries[best].node.name()
	if waits == nil {
		slices.Sort(lacks)
		ev.Detail = "the closest permission asks for " + strings.Join(lacks[:min(len(lacks), 5)], "; ")
		return
	}
	ev.Rule = waits.node.name()
	v.waiting(ev, waits)
}

// waiting says for which duty a permission waits.
func (v *verdict) waiting(ev *Evaluation, x *entry) {
	for _, d := range v.duties(x) {
		if !v.sets["blocking"][d.n] {
			continue
		}
		ev.Detail = "a duty of the permission is not fulfilled"
		ev.Duties = append(ev.Duties, Due{Rule: d.node.name(), Action: d.action(), Of: x.node.name()})
		switch {
		case d.signs():
			ev.Reason, ev.Detail = PolicyRequiresVerification, proofDetail
		case d.pays() && ev.Reason == PolicyNotApplicable:
			ev.Reason, ev.Detail = PolicyRequiresPayment, "the policy asks for a payment first"
		}
		ev.Charges = append(ev.Charges, d.owes()...)
	}
	if c := v.over(x); c != nil && ev.Reason == PolicyNotApplicable {
		ev.Reason, ev.Detail = QuotaExceeded, "the closest permission asks for "+c.String()
		if c.unit.iri != "" || c.operand == "rateLimit" {
			ev.Reason = RateLimitExceeded
		}
	}
}

func (x *entry) action() string {
	if len(x.node.actions) > 0 {
		return x.node.actions[0].name
	}
	return ""
}

// about reports whether the question fits the parts of a rule.
func (v *verdict) about(x *entry) bool {
	for _, part := range []string{"action", "target", "party"} {
		if x.data[part] != nil && !v.premise[premiseKey(x.n, part)] {
			return false
		}
	}
	return true
}

// bounds reports whether a constraint limits, rather than conditions, the rule.
func (v *verdict) bounds(x *entry, c *constraintNode) bool {
	return !x.node.kind.duty() && v.e.limiting(c)
}

// over is a limit that the question's own count exceeds.
func (v *verdict) over(x *entry) *constraintNode {
	for _, c := range conditionsOf(x) {
		if id := v.e.bySource[c]; v.e.limiting(c) && v.s.counted(v.e, c) && !v.holds[id] {
			return c
		}
	}
	return nil
}

// missing words the constraints of a permission that do not hold, under the action that lacks least.
func (v *verdict) missing(x *entry) []string {
	shared := slices.Clone(x.node.constraints)
	for _, ref := range slices.Concat(x.node.targets, x.parties) {
		shared = append(shared, ref.refinements...)
	}
	if len(x.node.actions) == 0 {
		return v.lacking(x, shared)
	}
	var least []string
	first := true
	for _, a := range x.node.actions {
		if !slices.Contains(v.s.names["action"], a.name) {
			continue
		}
		if list := v.lacking(x, slices.Concat(shared, a.refinements)); first || len(list) < len(least) {
			least, first = list, false
		}
	}
	return least
}

func (v *verdict) lacking(x *entry, list []*constraintNode) []string {
	var missing []string
	for _, c := range flatten(list) {
		if id, ok := v.e.bySource[c]; ok && !v.holds[id] && !v.bounds(x, c) {
			missing = append(missing, c.String())
		}
	}
	return missing
}

// conditionsOf are the constraints and refinements of a rule, conjunctions taken apart.
func conditionsOf(x *entry) []*constraintNode {
	list := slices.Clone(x.node.constraints)
	for _, a := range x.node.actions {
		list = append(list, a.refinements...)
	}
	for _, ref := range slices.Concat(x.node.targets, x.parties) {
		list = append(list, ref.refinements...)
	}
	return flatten(list)
}
