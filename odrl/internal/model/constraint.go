package model

import (
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Flatten takes conjunctions apart: the constraints of a rule are one. ODRL IM 2.5.1.
func Flatten(list []*Constraint) []*Constraint {
	var out []*Constraint
	for _, c := range list {
		if c.Logic == "and" || c.Logic == "andSequence" {
			out = append(out, Flatten(c.Operands)...)
			continue
		}
		out = append(out, c)
	}
	return out
}

// CanonicalConstraint is the RFC 8785 form of a constraint, for comparing and for limit ids.
func CanonicalConstraint(c *Constraint) string {
	b, err := strictjson.Canonical(constraintTree(c))
	if err != nil { // only texts are in the tree
		return c.Pointer
	}
	return string(b)
}

func constraintTree(c *Constraint) map[string]any {
	if c.Logic != "" {
		list := make([]string, 0, len(c.Operands))
		for _, operand := range c.Operands {
			list = append(list, CanonicalConstraint(operand))
		}
		if c.Logic != "andSequence" {
			slices.Sort(list)
		}
		return map[string]any{c.Logic: list}
	}
	return map[string]any{"leftOperand": c.Operand, "operator": c.Operator, "rightOperand": c.Texts(), "unit": c.Unit.IRI}
}

// String words a constraint: leftOperand operator rightOperand.
func (c *Constraint) String() string {
	if c.Logic != "" {
		parts := make([]string, 0, len(c.Operands))
		for _, operand := range c.Operands {
			parts = append(parts, operand.String())
		}
		return c.Logic + " (" + strings.Join(parts, ", ") + ")"
	}
	const most = 5
	texts := c.Texts()
	if len(texts) > most {
		texts = append(texts[:most], "…")
	}
	s := c.Operand + " " + c.Operator + " " + Quote(strings.Join(texts, ", "))
	if c.Unit.IRI != "" {
		s += " " + LastName(c.Unit.IRI)
	}
	return s
}

// Texts are the right operands as texts, sorted.
func (c *Constraint) Texts() []string {
	var list []string
	for _, l := range c.Right {
		if l.Window {
			list = append(list, l.Start+"/"+l.End)
			continue
		}
		list = append(list, l.Text)
	}
	slices.Sort(list)
	return list
}
