package rules

import (
	"slices"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// textLeaf compares texts, IRIs and codes.
func (k *compiler) textLeaf(l *Leaf, c *model.Constraint) bool {
	left := c.Left()
	var f model.TextForm
	ranges := false
	values := make([]any, 0, len(c.Right))
	for i, r := range c.Right {
		if r.Window || r.Text == "" {
			k.Problems.Errorf("value", r.Pointer, "%s must be compared with a string or an IRI", c.Operand)
			return false
		}
		this := left.TextForm(r.Text)
		if i > 0 && this != f {
			this = model.MixedText
		}
		f = this
		ranges = ranges || left.IsRange(r.Text)
		values = append(values, left.CanonicalText(r.Text))
	}
	if left.Networked() && f == model.MixedText {
		k.Problems.Errorf("value", c.Pointer,
			"addresses, domain names and IRIs cannot be compared with one another: write a separate constraint for each kind")
		return false
	}
	part := l.Operator == "isPartOf" || l.Operator == "hasPart"
	mixed := f == model.MixedText && left.Codes != nil && !part
	switch {
	case f.Contains() || mixed:
		l.Kind = "code"
	case part && k.mode == literal:
		l.Kind = "class"
	default:
		l.Kind = "text"
	}
	if mixed {
		k.Problems.Warnf("taxonomy", c.Pointer,
			"some values are not codes whose parts are known, so the result of %s is unknown for them; write a separate constraint for each kind of value",
			c.Operator)
	}
	var narrower []string
	if l.Operator == "isPartOf" && !f.Contains() && k.mode != literal {
		narrower = k.Narrower(left.CanonicalText(c.Right[0].Text))
	}
	if part && !f.Contains() && len(narrower) < 2 {
		k.Problems.Warnf("taxonomy", c.Pointer,
			"no taxonomy is known for %s: %s is true for equal values and unknown for all others; use isAnyOf for a definite answer",
			c.Operand, c.Operator)
	}
	l.Slot.As = string(f)
	l.Value = values[0]
	if slices.Contains(model.SetOperators, l.Operator) {
		l.Value = values
	}
	if len(narrower) > 1 { // the value and everything that a vocabulary lists as part of it; the result is unknown for other values
		l.Operator, l.Value = "isKnownAny", model.Anys(narrower)
	}
	if k.mode != enforcing {
		l.read = func(v any) (any, bool) { return k.textFact(v, left, f) }
	}
	if ranges { // an address equals a range if it is in the range
		if !k.allow(l, "eq", "neq", "isAnyOf", "isNoneOf", "isPartOf", "hasPart") {
			return false
		}
		l.rename(map[string]string{"eq": "isPartOf", "neq": "isNotPartOf", "isAnyOf": "isAnyPartOf", "isNoneOf": "isNonePartOf"})
		return true
	}
	switch {
	case mixed:
		l.rename(inDoubt)
	case f.Contains():
		l.rename(exactly)
	}
	return true
}

// The operators over codes, where one code may contain another. A part of a value is neither equal nor unequal to the value: for the
// part, neq is false and eq is unknown, so a prohibition on the value also binds for the part.
var (
	exactly = map[string]string{
		"eq": "isExactly", "neq": "isNotPartOf", "isAnyOf": "isExactlyAny", "isNoneOf": "isNonePartOf", "isAllOf": "isExactlyAll",
	}
	// inDoubt is used if some of the values are not codes, because the parts of such a value are unknown.
	inDoubt = map[string]string{"isAnyOf": "isKnownAny", "isNoneOf": "isNoneKnown", "isAllOf": "isKnownAll"}
)

func (l *Leaf) rename(operators map[string]string) {
	if operator, ok := operators[l.Operator]; ok {
		l.Operator = operator
	}
}

// textFact returns the canonical form of a fact. It returns false if the fact is not a string of the form f.
func (k *compiler) textFact(v any, left *model.Operand, f model.TextForm) (any, bool) {
	if k.mode == literal {
		v = model.Unwrap(v)
	}
	s, ok := v.(string)
	if !ok || s == "" {
		return nil, false
	}
	if long := k.Expand(s); k.mode == literal && model.Absolute(long) {
		s = long
	}
	if f != model.MixedText && left.TextForm(s) != f {
		return nil, false
	}
	return left.CanonicalText(s), true
}

// keyLeaf compares keys by their value, not by their encoding.
func (k *compiler) keyLeaf(l *Leaf, c *model.Constraint) bool {
	if l.Operator == "use" {
		l.Operator = "eq"
	}
	read := func(v any) (any, bool) {
		s, _ := model.Unwrap(v).(string)
		der, ok := ParseKey(s)
		return KeyText(der), ok
	}
	return k.compare(l, c, comparison{kind: "text", value: read, fact: read})
}
