package odrl

import (
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// flatten takes conjunctions apart: the constraints of a rule are one. ODRL IM 2.5.1.
func flatten(list []*constraintNode) []*constraintNode {
	var out []*constraintNode
	for _, c := range list {
		if c.logic == "and" || c.logic == "andSequence" {
			out = append(out, flatten(c.operands)...)
			continue
		}
		out = append(out, c)
	}
	return out
}

// canonicalConstraint is the RFC 8785 form of a constraint, for comparing and for limit ids.
func canonicalConstraint(c *constraintNode) string {
	b, err := strictjson.Canonical(constraintTree(c))
	if err != nil { // only texts are in the tree
		return c.pointer
	}
	return string(b)
}

func constraintTree(c *constraintNode) map[string]any {
	if c.logic != "" {
		list := make([]string, 0, len(c.operands))
		for _, operand := range c.operands {
			list = append(list, canonicalConstraint(operand))
		}
		if c.logic != "andSequence" {
			slices.Sort(list)
		}
		return map[string]any{c.logic: list}
	}
	return map[string]any{"leftOperand": c.operand, "operator": c.operator, "rightOperand": c.texts(), "unit": c.unit.iri}
}

// String words a constraint: leftOperand operator rightOperand.
func (c *constraintNode) String() string {
	if c.logic != "" {
		parts := make([]string, 0, len(c.operands))
		for _, operand := range c.operands {
			parts = append(parts, operand.String())
		}
		return c.logic + " (" + strings.Join(parts, ", ") + ")"
	}
	const most = 5
	texts := c.texts()
	if len(texts) > most {
		texts = append(texts[:most], "…")
	}
	s := c.operand + " " + c.operator + " " + quote(strings.Join(texts, ", "))
	if c.unit.iri != "" {
		s += " " + lastName(c.unit.iri)
	}
	return s
}

// texts are the right operands as texts, sorted.
func (c *constraintNode) texts() []string {
	var list []string
	for _, l := range c.right {
		if l.window {
			list = append(list, l.start+"/"+l.end)
			continue
		}
		list = append(list, l.text)
	}
	slices.Sort(list)
	return list
}
