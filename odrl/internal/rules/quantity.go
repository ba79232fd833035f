package rules

import (
	"math/big"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
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
func numberComparison(n *model.Names, c *model.Constraint) comparison {
	unit, factor, measured := measureOf(unitName(n, c))
	as := unit
	if measured {
		as = strings.ToLower(model.LastName(unitName(n, c)))
	}
	if c.Unit.IRI != "" && c.Left().Unit == model.Period {
		as, measured = "", false // a period: whoever gives a count gives that of the period
	}
	decimal := func(v any) (*big.Rat, bool) {
		s, ok := model.TextOf(v)
		f := factor
		if m, isObject := v.(map[string]any); isObject && m["unit"] != nil {
			name, _ := model.NameOf(m["unit"])
			other, by, _ := measureOf(model.LastName(n.Expand(name)))
			if other != unit {
				return nil, false
			}
			f = by
			if value, has := m["value"]; has {
				s, ok = model.TextOf(value)
			}
		}
		if n.Served && !brief(s) {
			return nil, false
		}
		x, good := model.ParseDecimal(s)
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
		return model.AsAny(model.OrderedNumber(x))
	}
	fact := value
	if n.Served {
		bounds := c.Left().Bounds
		fact = func(v any) (any, bool) {
			x, ok := decimal(v)
			if !ok || !possible(bounds, x) {
				return nil, false
			}
			return model.AsAny(model.OrderedNumber(x))
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
func possible(b model.Bounds, x *big.Rat) bool {
	return b == model.Unbounded || x.Sign() >= 0 && (b != model.UpToHundred || x.Cmp(big.NewRat(100, 1)) <= 0)
}

func unitName(n *model.Names, c *model.Constraint) string {
	if name, ok := n.Local(c.Unit.IRI, n.Namespaces, model.UnitNamespaces); ok {
		return name
	}
	return c.Unit.IRI
}

// durationComparison reads lengths of time. A number with a unit of time is one too.
func durationComparison(n *model.Names, c *model.Constraint) comparison {
	unit := unitName(n, c)
	read := func(v any) (any, bool) {
		s, ok := model.TextOf(v)
		if !ok {
			return nil, false
		}
		if list, good := model.ParseDuration(s); good {
			return list, true
		}
		return lengthOf(s, unit)
	}
	return comparison{"duration", strings.ToLower(strings.TrimSuffix(unit, "s")), "a duration such as PT90S or P30D", read, read}
}

// lengths are the operators by which durations compare, which have no order where months do not tell.
var lengths = map[string]string{"lt": "shorter", "lteq": "shorter-or-same", "gt": "longer", "gteq": "longer-or-same"}

// eventComparison reads the course of a named event: before it, during it, after it. A name alone says that it is on.
func eventComparison(n *model.Names, c *model.Constraint) comparison {
	name := n.Expand(c.Right[0].Text)
	course := map[string]int64{"before": -1, "during": 0, "after": 1}
	read := func(v any) (any, bool) {
		if m, ok := v.(map[string]any); ok && m["@id"] == nil && m["uid"] == nil {
			for k, state := range m {
				s, _ := state.(string)
				if at, known := course[s]; known && n.Expand(k) == name {
					return model.Integer(at), true
				}
			}
			return nil, false
		}
		s, ok := model.TextOf(v)
		return model.Integer(0), ok && n.Expand(s) == name
	}
	return comparison{"number", name, "the name of an event", read, read}
}

func isUsage(n *model.Names, r model.Literal) bool {
	name, ok := n.Local(r.Text, n.Namespaces)
	return ok && name == "policyUsage"
}

// compare fills in the leaf what its right operands say under a comparison; false where one says nothing.
func (l *Leaf) compare(c *model.Constraint, how comparison) bool {
	switch l.Operator {
	case "isPartOf", "hasPart", "within", "outside", "use":
		return false
	}
	set := slices.Contains(model.SetOperators, c.Operator)
	values := make([]any, 0, len(c.Right))
	for _, r := range c.Right {
		v, ok := how.value(r.Text)
		if !ok || r.Window {
			return false
		}
		values = append(values, v)
	}
	if op, ok := lengths[l.Operator]; ok && how.kind == "duration" {
		l.Operator = op
	}
	l.Kind, l.Slot, l.read, l.Value = how.kind, Slot{c.Operand, how.as}, how.fact, values[0]
	if set {
		l.Value = values
	}
	return true
}

// readLeaf compares numbers and durations.
func (n *normalizer) readLeaf(l *Leaf, c *model.Constraint, how comparison) bool {
	if !n.allow(l, append([]string{"eq", "neq", "isAnyOf", "isNoneOf", "isAllOf"}, model.Orderings...)...) {
		return false
	}
	if how.kind == "duration" && c.Unit.IRI != "" {
		if _, ok := lengthOf("1", unitName(n.Names, c)); !ok {
			n.Problems.Errorf("unit", c.Unit.Pointer, "%s is no unit of time", model.Quote(c.Unit.IRI))
			return false
		}
	}
	for _, r := range c.Right {
		if _, ok := how.value(r.Text); !ok || r.Window {
			n.Problems.Errorf("value", r.Pointer, "%s compares with %s, not %s", c.Operand, how.what, model.Quote(r.Text))
			return false
		}
		if x, ok := model.ParseDecimal(r.Text); ok && c.Left().Bounds == model.UpToHundred && c.Unit.IRI == "" && !possible(model.UpToHundred, x) {
			n.Problems.Errorf("value", r.Pointer, "%s compares with a number from 0 to 100, not %s", c.Operand, model.Quote(r.Text))
			return false
		}
	}
	return l.compare(c, how)
}

// eventLeaf takes what can be known of an event while a call is decided: that it is on.
func (n *normalizer) eventLeaf(l *Leaf, c *model.Constraint) bool {
	if l.Operator != "eq" {
		n.Problems.Errorf("operator", c.Pointer, "whether an event is over or still to come is not known to the gateway: ask by eq whether it is on, or compare dateTime")
		return false
	}
	if r := c.Right[0]; r.Window || r.Text == "" || isUsage(n.Names, r) {
		n.Problems.Errorf("value", r.Pointer, "event compares with the name of an event: the use itself is no event that a call could wait for")
		return false
	}
	return l.compare(c, eventComparison(n.Names, c))
}
