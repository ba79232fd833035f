package rules

import (
	"math/big"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A comparison determines how the facts and the right operands of a constraint are converted into comparable values. The facts of one
// operand are converted once for all constraints with the same form.
type comparison struct {
	kind  string // the type of facts that constraints.rego accepts
	as    string // the form of the values, for the slot
	value func(any) (any, bool)
	fact  func(any) (any, bool)
	code  string // the code of the error for a right operand
	fault string // its message: a format for the left operand and the value
}

// compare fills in the leaf with the right operands of a constraint. If one of them is not a value of the operand, it reports that and
// returns false.
func (k *compiler) compare(l *Leaf, c *model.Constraint, how comparison) bool {
	values := make([]any, 0, len(c.Right))
	for _, r := range c.Right {
		v, ok := how.value(r.Text)
		if !ok || r.Window {
			k.Problems.Errorf(how.code, r.Pointer, how.fault, c.Operand, model.Quote(r.Text))
			return false
		}
		if k.mode == enforcing && c.Left().Bounds == model.UpToHundred && c.Unit.IRI == "" {
			if x, ok := model.ParseDecimal(r.Text); ok && !possible(model.UpToHundred, x) {
				k.Problems.Errorf("value", r.Pointer, "%s must be compared with a number from 0 to 100, not with %s", c.Operand, model.Quote(r.Text))
				return false
			}
		}
		values = append(values, v)
	}
	if op, ok := lengths[l.Operator]; ok && how.kind == "duration" {
		l.Operator = op
	}
	l.Kind, l.Slot.As, l.read, l.Value = how.kind, how.as, how.fact, values[0]
	if slices.Contains(model.SetOperators, l.Operator) {
		l.Value = values
	}
	return true
}

// numberLeaf compares decimals exactly. If the constraint has a known unit, a fact may have another unit of the same dimension, as in
// {"value": 5, "unit": "MB"}; a bare number has the unit of the constraint.
func (k *compiler) numberLeaf(l *Leaf, c *model.Constraint) bool {
	unit, factor, measured := measureOf(k.unitName(c))
	as := unit
	if measured {
		as = strings.ToLower(model.LastName(k.unitName(c)))
	}
	if c.Unit.IRI != "" && c.Left().Unit == model.Period {
		as, measured = "", false // the unit is a period, so the count is that of the period
	}
	number := func(v any) (*big.Rat, bool) {
		s, ok := model.TextOf(v)
		f := factor
		if m, isObject := v.(map[string]any); isObject && m["unit"] != nil {
			name, _ := model.NameOf(m["unit"])
			other, by, _ := measureOf(model.LastName(k.Expand(name)))
			if other != unit {
				return nil, false
			}
			f = by
			if value, has := m["value"]; has {
				s, ok = model.TextOf(value)
			}
		}
		if k.Served && !brief(s) {
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
	within := func(bounds model.Bounds) func(any) (any, bool) {
		return func(v any) (any, bool) {
			x, ok := number(v)
			if !ok || !possible(bounds, x) {
				return nil, false
			}
			return model.AsAny(model.OrderedNumber(x))
		}
	}
	value, fact := within(model.Unbounded), within(model.Unbounded)
	if k.Served {
		fact = within(c.Left().Bounds)
	}
	return k.compare(l, c, comparison{
		"ordered", as, value, fact, "value",
		"%s must be compared with a decimal number such as 1.5, of at most 64 characters, not with %s",
	})
}

// brief reports whether a number is short enough to be parsed for each call: at most 64 characters, with an exponent of at most two
// digits.
func brief(s string) bool {
	const most, digits = 64, 2
	i := strings.IndexAny(s, "eE")
	return len(s) <= most && (i < 0 || len(strings.TrimLeft(s[i+1:], "+-0")) <= digits)
}

// possible reports whether a number is within the bounds of a quantity. Without this check, a negative size would meet every upper limit.
func possible(b model.Bounds, x *big.Rat) bool {
	return b == model.Unbounded || x.Sign() >= 0 && (b != model.UpToHundred || x.Cmp(big.NewRat(100, 1)) <= 0)
}

func (k *compiler) unitName(c *model.Constraint) string {
	if name, ok := k.Local(c.Unit.IRI, k.Namespaces, model.UnitNamespaces); ok {
		return name
	}
	return c.Unit.IRI
}

// durationLeaf compares durations. A number with a unit of time is also a duration.
func (k *compiler) durationLeaf(l *Leaf, c *model.Constraint) bool {
	unit := k.unitName(c)
	if k.mode == enforcing && c.Unit.IRI != "" {
		if _, ok := lengthOf("1", unit); !ok {
			k.Problems.Errorf("unit", c.Unit.Pointer, "%s is not a unit of time", model.Quote(c.Unit.IRI))
			return false
		}
	}
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
	as := strings.ToLower(strings.TrimSuffix(unit, "s"))
	return k.compare(l, c, comparison{"duration", as, read, read, "value", "%s must be compared with a duration such as PT90S or P30D, not with %s"})
}

// lengths maps the ordering operators to those for durations, which are only partially ordered: a month is neither shorter nor longer
// than 30 days.
var lengths = map[string]string{"lt": "shorter", "lteq": "shorter-or-same", "gt": "longer", "gteq": "longer-or-same"}

// eventLeaf compares the time with a named event: before, during or after the event. A fact that is only a name means that the event is in
// progress. When a gateway decides a call, it has no other facts about events.
func (k *compiler) eventLeaf(l *Leaf, c *model.Constraint) bool {
	if k.mode == enforcing {
		if l.Operator != "eq" {
			k.Problems.Errorf("operator", c.Pointer,
				"the gateway cannot determine whether an event is over or still to come: use eq to test whether the event is in progress, or compare dateTime")
			return false
		}
		if r := c.Right[0]; r.Window || r.Text == "" || k.isUsage(c) {
			k.Problems.Errorf("value", r.Pointer, "event must be compared with the name of an event: the use itself is not an event that a call could wait for")
			return false
		}
	}
	if k.isUsage(c) {
		l.Kind, l.Slot, l.usage, l.read = "number", Slot{Operand: "dateTime"}, true, instantFact
		return true
	}
	name := k.Expand(c.Right[0].Text)
	course := map[string]int64{"before": -1, "during": 0, "after": 1}
	read := func(v any) (any, bool) {
		if m, ok := v.(map[string]any); ok && m["@id"] == nil && m["uid"] == nil {
			for key, state := range m {
				s, _ := state.(string)
				if at, known := course[s]; known && k.Expand(key) == name {
					return model.Integer(at), true
				}
			}
			return nil, false
		}
		s, ok := model.TextOf(v)
		return model.Integer(0), ok && k.Expand(s) == name
	}
	return k.compare(l, c, comparison{kind: "number", as: name, value: read, fact: read})
}

// versionLeaf compares versions: by three numbers in an enforced policy, and by semantic versioning in any other.
func (k *compiler) versionLeaf(l *Leaf, c *model.Constraint) bool {
	how := comparison{kind: "ordered", value: semver, fact: semver}
	if k.mode == enforcing {
		how = comparison{kind: "version", value: version, code: "version", fault: "%[2]s is not a version such as v1 or 1.2.3"}
	}
	return k.compare(l, c, how)
}

func version(v any) (any, bool) {
	s, ok := v.(string)
	x, good := model.ParseVersion(s)
	return []any{model.Integer(x[0]), model.Integer(x[1]), model.Integer(x[2])}, ok && good
}

func semver(v any) (any, bool) {
	s, ok := model.TextOf(v)
	if !ok {
		return nil, false
	}
	return model.AsAny(model.ParseSemver(s))
}

// moneyLeaf compares amounts of money in one currency; facts in another currency are unknown. If the policy names no currency, the leaf
// compares plain numbers.
func (k *compiler) moneyLeaf(l *Leaf, c *model.Constraint) bool {
	if k.mode == enforcing {
		a, ok := k.amount(c)
		l.Kind, l.Slot.As, l.Value = "number", a.Currency, model.Integer(a.Nano)
		return ok
	}
	currency := k.currencyOf(c.Unit)
	fact := func(v any) (any, bool) {
		amount, unit := amountOf(v)
		if unit != "" && k.currencyOf(model.Reference{IRI: k.Expand(unit)}) != currency {
			return nil, false
		}
		return decimal(amount)
	}
	if k.mode == evaluating { // the gateway's amounts always have a currency
		fact = func(v any) (any, bool) {
			a, ok := v.(money.Amount)
			if s, isText := v.(string); isText {
				var err error
				a, err = money.Parse(s)
				ok = err == nil
			}
			if !ok || a.Currency != currency {
				return nil, false
			}
			return model.AsAny(model.OrderedNumber(big.NewRat(a.Nano, money.Unit)))
		}
	}
	return k.compare(l, c, comparison{kind: "ordered", as: currency, value: decimal, fact: fact})
}

func decimal(v any) (any, bool) {
	s, ok := model.TextOf(v)
	x, good := model.ParseDecimal(s)
	if !ok || !good {
		return nil, false
	}
	return model.AsAny(model.OrderedNumber(x))
}

// amountOf splits values such as "5 EUR" and {"value": 5, "unit": "EUR"} into amount and unit.
func amountOf(v any) (amount any, unit string) {
	if a, ok := v.(money.Amount); ok {
		v = a.String()
	}
	amount = v
	if m, ok := v.(map[string]any); ok {
		for _, key := range []string{"unit", "currency"} {
			if u, has := m[key]; has {
				unit, _ = model.NameOf(u)
			}
		}
		if value, has := m["value"]; has {
			amount = value
		}
	}
	if s, ok := model.TextOf(amount); ok {
		if number, of, cut := strings.Cut(s, " "); cut {
			return number, of
		}
	}
	return amount, unit
}

// currencyOf returns the ISO 4217 code of a unit, or its IRI if the currency is not known.
func (k *compiler) currencyOf(unit model.Reference) string {
	if unit.IRI == "" {
		return ""
	}
	if code, ok := k.currency(unit); ok {
		return code
	}
	return unit.IRI
}
