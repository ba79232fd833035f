package rules

import (
	"regexp"
	"slices"
	"strings"

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
		"a plan can only be a constraint of a permission, outside or, xone and andSequence: write a permission for each plan")
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

// carry sets the limits that the permissions of different plans carry for each other: those with the same action, target and other
// conditions. It reports a policy with too many plans.
func (n *normalizer) carry() {
	type offer struct{ action, target, conditions string }
	alike, named := map[offer][]*Rule{}, map[string]bool{}
	for _, r := range n.rules {
		if r.Kind != model.Permission {
			continue
		}
		o := offer{r.Action, r.Target.Name, strings.Join(r.besidePlans(), "\x00")}
		alike[o] = append(alike[o], r)
		for _, plan := range r.Plans {
			if named[plan] = true; len(named) > mostPlans {
				n.Problems.Errorf("plan", r.Node.Pointer, "a policy may have at most %d plans", mostPlans)
				return
			}
		}
	}
	for _, rules := range alike {
		if !slices.ContainsFunc(rules, func(r *Rule) bool { return r.Plans != nil }) {
			continue
		}
		all := map[string]limit.Limit{}
		for _, r := range rules {
			for _, l := range r.Limits {
				all[l.ID] = limit.Limit{ID: l.ID, Rate: limit.Rate{Max: limit.MaxCount, Period: l.Period}}
			}
		}
		for _, r := range rules {
			for _, id := range model.SortedKeys(all) {
				if !slices.ContainsFunc(r.Limits, func(l limit.Limit) bool { return l.ID == id }) {
					r.Carried = append(r.Carried, all[id])
				}
			}
		}
	}
}
