package model

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Flatten splits conjunctions, because the constraints of a rule are one. ODRL IM 2.5.1.
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
func CanonicalConstraint(c *Constraint) string { return forms{}.of(c) }

// forms has the parts of logical constraints in their canonical form, each made once.
type forms map[*Constraint]string

func (f forms) of(c *Constraint) string {
	b, err := strictjson.Canonical(f.tree(c))
	if err != nil { // only strings are in the tree
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

// part returns the canonical form of a part of a logical constraint. A part that is logical itself is given by its hash: otherwise
// escaping makes the text grow at each level.
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

// String formats a constraint: leftOperand operator rightOperand.
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
