package rules

import (
	"regexp"
	"slices"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// planOperand is the left operand that compares the plan of the agent's agreement.
const planOperand = "plan"

// mostPlans is the maximum number of plans of one policy.
const mostPlans = 16

var planName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// plans reads the plans that a permission belongs to from its conditions. Only a permission may have a plan, and the plan may not be one of
// several alternatives, so that the prices of each plan are certain. It returns false if it reported a condition.
func (n *normalizer) plans(r *Rule) bool {
	for _, c := range r.Conditions {
		of := planIn(c)
		switch {
		case of == nil:
			continue
		case r.Kind != model.Permission || of != c:
			n.misplaced(of)
			return false
		case c.Operator != "eq" && c.Operator != "isAnyOf":
			n.Problems.Errorf("plan", c.Pointer, "a plan is compared with eq or isAnyOf, not %s", c.Operator)
			return false
		}
		var names []string
		for _, v := range c.Right {
			if !planName.MatchString(v.Text) {
				n.Problems.Errorf("plan", v.Pointer, "a plan is named by 1 to 64 letters, digits, _ . and -, the first a letter or a digit")
				return false
			}
			names = append(names, v.Text)
		}
		slices.Sort(names)
		if r.Plans != nil {
			names = slices.DeleteFunc(names, func(one string) bool { return !slices.Contains(r.Plans, one) })
			if len(names) == 0 {
				n.Problems.Errorf("plan", c.Pointer, "no plan satisfies all constraints of this permission: use isAnyOf for several plans")
				return false
			}
		}
		r.Plans = slices.Compact(names)
	}
	return true
}

// unplanned reports whether a duty has no condition on a plan. If it has one, unplanned adds an error.
func (n *normalizer) unplanned(d *Duty) bool {
	for _, c := range d.Conditions {
		if of := planIn(c); of != nil {
			n.misplaced(of)
			return false
		}
	}
	return true
}

// misplaced adds an error for a constraint on a plan.
func (n *normalizer) misplaced(c *model.Constraint) {
	n.Problems.Errorf("plan", c.Pointer,
		"a plan can only be a constraint of a permission, and not inside or, xone and andSequence: write a permission for each plan")
}

// planIn returns the constraint on a plan that c is or contains, or nil.
func planIn(c *model.Constraint) *model.Constraint {
	if c.Logic == "" {
		if c.Operand == planOperand {
			return c
		}
		return nil
	}
	for _, o := range c.Operands {
		if found := planIn(o); found != nil {
			return found
		}
	}
	return nil
}

// besidePlans returns the canonical forms of the conditions that are not about a plan.
func (r *Rule) besidePlans() []string {
	if r.Plans == nil {
		return r.Canonical
	}
	var list []string
	for _, c := range r.Conditions {
		if planIn(c) == nil {
			list = append(list, model.CanonicalConstraint(c))
		}
	}
	slices.Sort(list)
	return list
}

// boundPlans reports a policy with too many plans.
func (n *normalizer) boundPlans() {
	named := map[string]bool{}
	for _, r := range n.rules {
		for _, plan := range r.Plans {
			if named[plan] = true; len(named) > mostPlans {
				n.Problems.Errorf("plan", r.Node.Pointer, "a policy may have at most %d plans", mostPlans)
				return
			}
		}
	}
}

// alike reports whether two permissions differ only in their plans, duties and limits. Their limits of the same period have the same id.
func (r *Rule) alike(o *Rule) bool {
	return r.Action == o.Action && r.Target.Name == o.Target.Name && slices.Equal(r.beside, o.beside)
}

// carriesFor reports whether a call under r also counts in the limits of o. If both have plans, it does if no plan has both, or if they are
// alike. If one of them has plans, it does if they are alike. If neither has plans, it does not.
func (r *Rule) carriesFor(o *Rule) bool {
	if r.Plans == nil || o.Plans == nil {
		return (r.Plans != nil || o.Plans != nil) && r.alike(o)
	}
	return !slices.ContainsFunc(r.Plans, func(plan string) bool { return slices.Contains(o.Plans, plan) }) || r.alike(o)
}

// Carried returns the limits of other permissions in which a call to an intent under r also counts, each without its maximum. Because of
// them, an agent that changes its plan cannot make more calls in a period than under the plan that permits most. Carried omits limits with
// an id in own.
func (p *Program) Carried(intent string, r *Rule, own []limit.Limit) []limit.Limit {
	var list []limit.Limit
	counted := func(id string) bool {
		same := func(l limit.Limit) bool { return l.ID == id }
		return slices.ContainsFunc(own, same) || slices.ContainsFunc(list, same)
	}
	for _, name := range p.Targets[intent] {
		for _, o := range p.limited[name] {
			if o == r || !r.carriesFor(o) {
				continue
			}
			for _, l := range o.Limits {
				if !counted(l.ID) {
					list = append(list, limit.Limit{ID: l.ID, Rate: limit.Rate{Max: limit.MaxCount, Period: l.Period}})
				}
			}
		}
	}
	return list
}

// limited prepares the permissions for Carried, and returns those with limits, by the name of their target, in document order; nil if the
// policy has no plans.
func (n *normalizer) limited() map[string][]*Rule {
	if !slices.ContainsFunc(n.rules, func(r *Rule) bool { return r.Plans != nil }) {
		return nil
	}
	list := map[string][]*Rule{}
	for _, r := range n.rules {
		r.beside = r.besidePlans()
		if r.Kind == model.Permission && len(r.Limits) > 0 {
			list[r.Target.Name] = append(list[r.Target.Name], r)
		}
	}
	return list
}
