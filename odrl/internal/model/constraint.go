package model

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Flatten replaces each conjunction with its operands, because the constraints of a rule are themselves a conjunction. See ODRL IM, section
// 2.5.1.
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

// CanonicalConstraint returns a constraint in the canonical form of RFC 8785, for comparisons and for the ids of limits.
func CanonicalConstraint(c *Constraint) string { return forms{}.of(c) }

// forms caches the canonical forms of the operands of logical constraints.
type forms map[*Constraint]string

func (f forms) of(c *Constraint) string {
	b, err := strictjson.Canonical(f.tree(c))
	if err != nil { // cannot happen: the tree contains only strings
		return c.Pointer
	}
	return string(b)
}

func (f forms) tree(c *Constraint) map[string]any {
	if c.Logic != "" {
		list := make([]string, 0, len(c.Operands))
		for _, operand := range c.Operands {
			list = append(list, f.part(operand))
		}
		if c.Logic != "andSequence" {
			slices.Sort(list)
		}
		return map[string]any{c.Logic: list}
	}
	return map[string]any{"leftOperand": c.Operand, "operator": c.Operator, "rightOperand": c.Texts(), "unit": c.Unit.IRI}
}

// part returns the canonical form of an operand of a logical constraint. If the operand is itself logical, part returns a hash of the
// form: otherwise escaping would make the text longer at each level.
func (f forms) part(c *Constraint) string {
	form, known := f[c]
	if known {
		return form
	}
	form = f.of(c)
	if c.Logic != "" {
		sum := sha256.Sum256([]byte(form))
		form = hex.EncodeToString(sum[:])
	}
	f[c] = form
	return form
}

// String formats a constraint for messages: left operand, operator, at most five right operands, and unit.
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

// Texts returns the right operands as text, sorted. A window becomes its start and end, separated by a slash.
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
