package odrl

import (
	"math/big"
	"slices"
	"strings"
)

// A comparison is how the facts and the right operands of a constraint become comparable values. What it is told by as
// decides it: facts of one operand are read once for all constraints that read them alike.
type comparison struct {
	kind  string // the type guard of semantics.rego
	as    string // of the slot
	what  string // what a value is, to be said of one that is none
	value func(any) (any, bool)
	fact  func(any) (any, bool)
}

// numberComparison reads decimals, exactly. With a unit that is known, a number of either side may say another one of the same
// dimension ({"value": 5, "unit": "MB"}); a bare number has the unit of the constraint.
func numberComparison(n *names, c *constraintNode) comparison {
	unit, factor, measured := measureOf(unitName(n, c))
	as := unit
	if measured {
		as = strings.ToLower(lastName(unitName(n, c)))
	}
	if c.unit.iri != "" && (c.operand == "count" || c.operand == "rateLimit") {
		as, measured = "", false // a period: whoever gives a count gives that of the period
	}
	decimal := func(v any) (*big.Rat, bool) {
		s, ok := textOf(v)
		f := factor
		if m, isObject := v.(map[string]any); isObject && m["unit"] != nil {
			name, _ := nameOf(m["unit"])
			other, by, _ := measureOf(lastName(n.expand(name)))
			if other != unit {
				return nil, false
			}
			f = by
			if value, has := m["value"]; has {
				s, ok = textOf(value)
			}
		}
		if n.served && !brief(s) {
			return nil, false
		}
		x, good := parseDecimal(s)
		if !ok || !good {
			return nil, false
		}
		if measured {
			x = new(big.Rat).Mul(x, f)
		}
		return x, true
	}
	value := func(v any) (any, bool) {
		x, ok := decimal(v)
		if !ok {
			return nil, false
		}
		return asAny(ordered(x))
	}
	fact := value
	if n.served {
		fact = func(v any) (any, bool) {
			x, ok := decimal(v)
			if !ok || !possible(c.operand, x) {
				return nil, false
			}
			return asAny(ordered(x))
		}
	}
	return comparison{"ordered", as, "a decimal number such as 1.5, of at most 64 characters", value, fact}
}

// brief reports whether a number is short enough to be read for each call: 64 characters, and at most two digits of
// an exponent.
func brief(s string) bool {
	const most, digits = 64, 2
	i := strings.IndexAny(s, "eE")
	return len(s) <= most && (i < 0 || len(strings.TrimLeft(s[i+1:], "+-0")) <= digits)
}

// possible reports whether a quantity can be that much. A size below nothing would pass every bound.
func possible(operand string, x *big.Rat) bool {
	d := newDomain(operand)
	return (d.lo != 0 || x.Sign() >= 0) && (operand != "percentage" || x.Cmp(big.NewRat(100, 1)) <= 0)
}

func unitName(n *names, c *constraintNode) string {
	if name, ok := n.local(c.unit.iri, n.namespaces, unitNamespaces); ok {
		return name
	}
	return c.unit.iri
}

// durationComparison reads lengths of time. A number with a unit of time is one too.
func durationComparison(n *names, c *constraintNode) comparison {
	unit := unitName(n, c)
	read := func(v any) (any, bool) {
		s, ok := textOf(v)
		if !ok {
			return nil, false
		}
		if list, good := parseDuration(s); good {
			return list, true
		}
		return lengthOf(s, unit)
	}
	return comparison{"duration", strings.ToLower(strings.TrimSuffix(unit, "s")), "a duration such as PT90S or P30D", read, read}
}

// lengths are the operators by which durations compare, which have no order where months do not tell.
var lengths = map[string]string{"lt": "shorter", "lteq": "shorter-or-same", "gt": "longer", "gteq": "longer-or-same"}

// eventComparison reads the course of a named event: before it, during it, after it. A name alone says that it is on.
func eventComparison(n *names, c *constraintNode) comparison {
	name := n.expand(c.right[0].text)
	course := map[string]int64{"before": -1, "during": 0, "after": 1}
	read := func(v any) (any, bool) {
		if m, ok := v.(map[string]any); ok && m["@id"] == nil && m["uid"] == nil {
			for k, state := range m {
				s, _ := state.(string)
				if at, known := course[s]; known && n.expand(k) == name {
					return integer(at), true
				}
			}
			return nil, false
		}
		s, ok := textOf(v)
		return integer(0), ok && n.expand(s) == name
	}
	return comparison{"number", name, "the name of an event", read, read}
}

func isUsage(n *names, r literal) bool {
	name, ok := n.local(r.text, n.namespaces)
	return ok && name == "policyUsage"
}

// compare fills in the leaf what its right operands say under a comparison; false where one says nothing.
func (l *leaf) compare(c *constraintNode, how comparison) bool {
	switch l.operator {
	case "isPartOf", "hasPart", "within", "outside", "use":
		return false
	}
	set := slices.Contains(setOperators, c.operator)
	values := make([]any, 0, len(c.right))
	for _, r := range c.right {
		v, ok := how.value(r.text)
		if !ok || r.window {
			return false
		}
		values = append(values, v)
	}
	if op, ok := lengths[l.operator]; ok && how.kind == "duration" {
		l.operator = op
	}
	l.kind, l.slot, l.read, l.value = how.kind, slot{c.operand, how.as}, how.fact, values[0]
	if set {
		l.value = values
	}
	return true
}

// readLeaf compares numbers and durations.
func (n *normalizer) readLeaf(l *leaf, c *constraintNode, how comparison) bool {
	if !n.allow(l, append([]string{"eq", "neq", "isAnyOf", "isNoneOf", "isAllOf"}, orderings...)...) {
		return false
	}
	if how.kind == "duration" && c.unit.iri != "" {
		if _, ok := lengthOf("1", unitName(n.names, c)); !ok {
			n.problems.Errorf("unit", c.unit.pointer, "%s is no unit of time", quote(c.unit.iri))
			return false
		}
	}
	for _, r := range c.right {
		if _, ok := how.value(r.text); !ok || r.window {
			n.problems.Errorf("value", r.pointer, "%s compares with %s, not %s", c.operand, how.what, quote(r.text))
			return false
		}
		if x, ok := parseDecimal(r.text); ok && c.operand == "percentage" && c.unit.iri == "" && !possible(c.operand, x) {
			n.problems.Errorf("value", r.pointer, "percentage compares with a number from 0 to 100, not %s", quote(r.text))
			return false
		}
	}
	return l.compare(c, how)
}

// eventLeaf takes what can be known of an event while a call is decided: that it is on.
func (n *normalizer) eventLeaf(l *leaf, c *constraintNode) bool {
	if l.operator != "eq" {
		n.problems.Errorf("operator", c.pointer, "whether an event is over or still to come is not known to the gateway: ask by eq whether it is on, or compare dateTime")
		return false
	}
	if r := c.right[0]; r.window || r.text == "" || isUsage(n.names, r) {
		n.problems.Errorf("value", r.pointer, "event compares with the name of an event: the use itself is no event that a call could wait for")
		return false
	}
	return l.compare(c, eventComparison(n.names, c))
}
