package rules

import (
	"fmt"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// An UncountedLimit is a constraint on a count that calls cannot be counted by, with Publish's message about it.
type UncountedLimit struct {
	problem.Problem
	Constraint *model.Constraint
}

// Uncounted lists the limits among the conditions of a permission or prohibition that nothing can be counted by: their number or period
// cannot be read, they compare the wrong way round, or they are one of several alternatives. They never permit: without a count in the
// question, which Evaluate then compares as far as the limit can be read, they are unknown.
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

// UncountedOf lists those of a rule and its actions.
func UncountedOf(names *model.Names, r *model.Rule) []UncountedLimit {
	list := Uncounted(names, r.Constraints, r.Kind)
	for _, a := range r.Actions {
		list = append(list, Uncounted(names, a.Refinements, r.Kind)...)
	}
	return list
}

// alternatives are the counts within a logical constraint.
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
