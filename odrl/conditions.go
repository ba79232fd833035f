package odrl

import (
	"cmp"
	"slices"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A Condition is one constraint of a rule that is not a logical constraint.
type Condition struct {
	Rule     string   // uid of the rule, or JSON pointer
	Name     string   // uid of the constraint, or JSON pointer: the key in RuleReport.Constraints
	Operand  string   // local name of the left operand
	Operator string   // such as eq
	Values   []string // right operands, sorted
	Unit     string   // local name of the unit; empty: none
	// Limit reports that the constraint limits the number of calls. Evaluate does not compare it.
	Limit bool
}

// Conditions returns the conditions of every rule and duty, in document order, including those in logical constraints.
func (p *Policy) Conditions() []Condition {
	e := p.evaluation.rules()
	var list []Condition
	for _, x := range e.Entries {
		var add func(c *model.Constraint)
		add = func(c *model.Constraint) {
			if c.Logic != "" {
				for _, operand := range c.Operands {
					add(operand)
				}
				return
			}
			one := Condition{
				Rule: x.Node.Name(), Name: cmp.Or(c.UID, c.Pointer), Operand: c.Operand, Operator: c.Operator, Values: c.Texts(),
				Limit: e.Limiting(c, x.Node.Kind),
			}
			if c.Unit.IRI != "" {
				one.Unit = model.LastName(c.Unit.IRI)
			}
			list = append(list, one)
		}
		for _, c := range conditionsOf(x) {
			add(c)
		}
	}
	return slices.Clip(list)
}
