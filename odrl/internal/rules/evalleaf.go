package rules

import (
	"math/big"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// An evalLeaf is a constraint as the whole evaluation compares it, with the way its facts are read.
type evalLeaf struct {
	Leaf
	Slot  string
	usage bool // the right operand is the time of use
}

// kindOf says how the values of an operand compare; of one that no vocabulary describes, by the data
// type or the look of the value it is compared with.
func kindOf(c *model.Constraint) model.Kind {
	switch left := c.Left(); {
	case left.Kind == model.Count: // where a count is asked for, it is given with the question
		return model.Number
	case left.Known():
		return left.Kind
	}
	switch name := model.LastName(c.DataType); name {
	case "decimal", "integer", "double", "float", "long", "int", "nonNegativeInteger", "positiveInteger":
		return model.Number
	case "dateTime", "date", "dateTimeStamp":
		return model.Instant
	case "duration", "dayTimeDuration", "yearMonthDuration":
		return model.Duration
	}
	if !slices.Contains(model.Orderings, c.Operator) || len(c.Right) == 0 {
		return model.Text
	}
	for _, form := range forms {
		if form.reads(c.Right[0].Text) {
			return form.kind
		}
	}
	return model.Text
}

// forms are the looks by which a value is taken for more than a text; the first that reads it counts.
var forms = []struct {
	kind  model.Kind
	reads func(string) bool
}{
	{model.Number, func(s string) bool { _, ok := model.ParseDecimal(s); return ok }},
	{model.Duration, func(s string) bool { _, ok := model.ParseDuration(s); return ok }},
	{model.Instant, func(s string) bool { _, ok := model.ParseInstant(s); return ok }},
}

// newLeaf never fails: what cannot be compared is a leaf that no fact makes true or false.
func (e *Evaluable) newLeaf(c *model.Constraint) *evalLeaf {
	l := &evalLeaf{Leaf: Leaf{Source: c, Operator: c.Operator}}
	if c.Operator == "isA" {
		l.Operator = "isPartOf"
	}
	l.Leaf.Slot.Operand = c.Operand
	set := slices.Contains(model.SetOperators, l.Operator)
	ok := len(c.Right) > 0 && (len(c.Right) == 1 || set || c.Operator == "isA" || c.Operator == "isPartOf")
	if ok {
		switch kindOf(c) {
		case model.Number:
			ok = l.compare(c, numberComparison(e.Names, c))
		case model.Duration:
			ok = l.compare(c, durationComparison(e.Names, c))
		case model.Instant, model.Window:
			ok = e.timeLeaf(l, c, set)
		case model.Version:
			ok = e.versionLeaf(l, c)
		case model.Money:
			ok = e.amountLeaf(l, c)
		case model.Event:
			ok = e.eventLeaf(l, c)
		default:
			ok = e.textLeaf(l, c)
		}
	}
	if !ok {
		l.Kind, l.Operator, l.Value, l.Window = "none", "none", nil, false
		l.read = func(any) (any, bool) { return nil, false }
	}
	l.Slot = l.Leaf.Slot.Key() + "|" + l.Kind
	if c.Status != "" {
		l.Slot += "#" + c.Status
	}
	return l
}

// timeLeaf compares with the clock.
func (e *Evaluable) timeLeaf(l *evalLeaf, c *model.Constraint, set bool) bool {
	read := func(v any) (any, bool) {
		s, ok := model.TextOf(v)
		at, good := model.ParseInstant(s)
		if !ok || !good || at.From != at.To || at.Beyond() {
			return nil, false
		}
		return model.Integer(at.From), true
	}
	if kindOf(c) == model.Instant {
		l.Leaf.Slot = Slot{Operand: c.Operand}
		if len(c.Right) == 1 && isUsage(e.Names, c.Right[0]) {
			l.Kind, l.usage, l.read = "number", true, read
			return slices.Contains([]string{"eq", "neq", "lt", "lteq", "gt", "gteq"}, l.Operator)
		}
		if set {
			return l.compare(c, comparison{kind: "number", value: read, fact: read})
		}
	}
	n := e.scratch()
	build := n.instantLeaf
	if kindOf(c) == model.Window {
		build = n.windowLeaf
	}
	if !build(&l.Leaf, c) {
		return false
	}
	l.read = read
	if l.Leaf.Slot.As == "clock" {
		l.read = func(v any) (any, bool) {
			s, ok := model.TextOf(v)
			at, good := model.ParseInstant(s)
			if !ok || !good || at.From != at.To || at.Beyond() {
				return nil, false
			}
			return model.Integer(((at.From % int64(model.Day)) + int64(model.Day)) % int64(model.Day)), true
		}
		return true
	}
	l.Leaf.Slot.Operand = c.Operand
	if c.Operand == "timeWindow" {
		l.Leaf.Slot.Operand = "dateTime"
	}
	// A date among the facts is known to the day: only what compares whole days is sure of it.
	if at, ok := model.ParseInstant(c.Right[0].Text); ok && at.From != at.To {
		l.Leaf.Slot.As = "day"
		l.read = func(v any) (any, bool) {
			s, ok := model.TextOf(v)
			at, good := model.ParseInstant(s)
			if !ok || !good || at.Beyond() {
				return nil, false
			}
			return model.Integer(at.From), true
		}
	}
	return true
}

func (e *Evaluable) versionLeaf(l *evalLeaf, c *model.Constraint) bool {
	read := func(v any) (any, bool) {
		s, ok := model.TextOf(v)
		if !ok {
			return nil, false
		}
		return model.AsAny(model.ParseSemver(s))
	}
	return l.compare(c, comparison{kind: "ordered", value: read, fact: read})
}

// amountLeaf compares money of one currency. Where the policy names none, numbers are compared.
func (e *Evaluable) amountLeaf(l *evalLeaf, c *model.Constraint) bool {
	currency := e.currencyOf(c.Unit)
	number := func(v any) (any, bool) {
		s, ok := model.TextOf(v)
		x, good := model.ParseDecimal(s)
		if !ok || !good {
			return nil, false
		}
		return model.AsAny(model.OrderedNumber(x))
	}
	if !l.compare(c, comparison{kind: "ordered", as: currency, value: number}) {
		return false
	}
	l.read = func(v any) (any, bool) {
		amount, unit := amountOf(v)
		switch {
		case unit == "":
			return number(amount)
		case e.currencyOf(model.Reference{IRI: e.Names.Expand(unit)}) != currency:
			return nil, false
		}
		return number(amount)
	}
	if !e.Literal { // the gateway knows amounts with their currency only
		l.read = func(v any) (any, bool) {
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
	return true
}

// amountOf takes "5 EUR" and {"value": 5, "unit": "EUR"} apart.
func amountOf(v any) (amount any, unit string) {
	if a, ok := v.(money.Amount); ok {
		v = a.String()
	}
	amount = v
	if m, ok := v.(map[string]any); ok {
		for _, k := range []string{"unit", "currency"} {
			if u, has := m[k]; has {
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

// currencyOf is the ISO 4217 code of a unit, else its name.
func (e *Evaluable) currencyOf(unit model.Reference) string {
	if unit.IRI == "" {
		return ""
	}
	if code, ok := e.scratch().currency(unit); ok {
		return code
	}
	return unit.IRI
}

// eventLeaf compares with the course of a named event: before it, during it, after it.
func (e *Evaluable) eventLeaf(l *evalLeaf, c *model.Constraint) bool {
	if len(c.Right) != 1 || !slices.Contains([]string{"eq", "neq", "lt", "lteq", "gt", "gteq"}, l.Operator) {
		return false
	}
	if isUsage(e.Names, c.Right[0]) {
		l.Kind, l.usage, l.Leaf.Slot = "number", true, Slot{Operand: "dateTime"}
		return e.timeLeaf(l, &model.Constraint{Operand: "dateTime", Operator: c.Operator, Right: c.Right}, false)
	}
	return l.compare(c, eventComparison(e.Names, c))
}

func (e *Evaluable) textLeaf(l *evalLeaf, c *model.Constraint) bool {
	k := *c
	k.Unit = model.Reference{}
	k.Right = slices.Clone(c.Right)
	if c.Left().Kind == model.Key {
		return e.keyLeaf(l, c)
	}
	parted := l.Operator == "isPartOf" || l.Operator == "hasPart"
	many := parted && len(c.Right) > 1 && l.Operator == "isPartOf"
	if !e.scratch().textLeaf(&l.Leaf, &k) {
		return false
	}
	if parted && l.Kind == "text" && e.Literal {
		l.Kind = "class"
	}
	if many {
		return false
	}
	as, left := l.Leaf.Slot.As, c.Left()
	l.read = func(v any) (any, bool) {
		if e.Literal {
			v = model.Unwrap(v)
		}
		s, ok := v.(string)
		if !ok || s == "" {
			return nil, false
		}
		if long := e.Names.Expand(s); e.Literal && model.Absolute(long) {
			s = long
		}
		if as != string(model.MixedText) && left.TextForm(s) != model.TextForm(as) {
			return nil, false
		}
		return left.CanonicalText(s), true
	}
	return true
}

// keyLeaf compares keys by what they are, not by how they are written.
func (e *Evaluable) keyLeaf(l *evalLeaf, c *model.Constraint) bool {
	if l.Operator == "use" {
		l.Operator = "eq"
	}
	read := func(v any) (any, bool) {
		s, _ := model.Unwrap(v).(string)
		der, ok := ParseKey(s)
		return KeyText(der), ok
	}
	return l.compare(c, comparison{kind: "text", value: read, fact: read})
}

// FactOf reads the values of one operand for a leaf; nil where any of them is not of its kind.
func (l *evalLeaf) FactOf(v any) []any {
	values, ok := FactList(v)
	if !ok {
		return nil
	}
	list := make([]any, 0, len(values))
	for _, one := range values {
		x, ok := l.read(one)
		switch {
		case ok:
			list = append(list, x)
		case model.LeftOperand(l.Leaf.Slot.Operand).Kind == model.Event: // other events say nothing of this one
		default:
			return nil
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// FactList is the values of one fact; false where there are none, or too many.
func FactList(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, len(v) > 0 && len(v) <= MaxFacts
	case []string:
		return model.Anys(v), len(v) > 0 && len(v) <= MaxFacts
	default:
		return []any{v}, true
	}
}

// MaxFacts bounds the values of one operand. More are no facts at all.
const MaxFacts = 64
