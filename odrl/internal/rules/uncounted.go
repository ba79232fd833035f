package rules

import (
	"fmt"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// An UncountedLimit is a constraint on a count that cannot be enforced by counting calls, with the problem that Publish reports.
type UncountedLimit struct {
	problem.Problem
	Constraint *model.Constraint
}

// Uncounted returns the limits of a permission or prohibition that cannot be enforced by counting: their number or period cannot be read,
// they compare in the wrong direction, or they are one of several alternatives. Such a limit is unknown and so never permits. If the
// question gives a count, Evaluate compares the count with the limit, as far as the limit can be read.
func Uncounted(names *model.Names, conditions []*model.Constraint, kind model.RuleKind) []UncountedLimit {
	if kind.Duty() {
		return nil
	}
	var list []UncountedLimit
	for _, c := range model.Flatten(conditions) {
		if c.Logic != "" {
			list = append(list, alternatives(c.Operands)...)
			continue
		}
		if c.Left().Kind != model.Count {
			continue
		}
		var found model.Findings
		own := *names
		own.Problems = &found
		if _, ok := (&compiler{Names: &own}).rate(c, kind); !ok && len(found.List) > 0 {
			list = append(list, UncountedLimit{found.List[len(found.List)-1], c})
		}
	}
	return list
}

// UncountedOf returns the limits of a rule and its actions that cannot be enforced by counting.
func UncountedOf(names *model.Names, r *model.Rule) []UncountedLimit {
	list := Uncounted(names, r.Constraints, r.Kind)
	for _, a := range r.Actions {
		list = append(list, Uncounted(names, a.Refinements, r.Kind)...)
	}
	return list
}

// alternatives returns the counts within a logical constraint, as limits that cannot be enforced.
func alternatives(operands []*model.Constraint) []UncountedLimit {
	var list []UncountedLimit
	for _, c := range operands {
		switch {
		case c.Logic != "":
			list = append(list, alternatives(c.Operands)...)
		case c.Left().Kind == model.Count:
			why := kindRows[model.Count].refused
			list = append(list, UncountedLimit{
				problem.Problem{Level: problem.Error, Code: why[0], Pointer: c.Pointer, Message: fmt.Sprintf(why[1], c.Operand)}, c,
			})
		}
	}
	return list
}
