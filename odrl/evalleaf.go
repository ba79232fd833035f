package odrl

import (
	"math/big"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
)

// An evalLeaf is a constraint as the whole evaluation compares it, with the way its facts are read.
type evalLeaf struct {
	leaf
	slot  string
	usage bool // the right operand is the time of use
}

// kindOf says how the values of an operand compare; of one that no vocabulary describes, by the data
// type or the look of the value it is compared with.
func (e *evaluable) kindOf(c *constraintNode) kind {
	switch k, known := operands[c.operand]; {
	case k == limiting: // where a count is asked for, it is given with the question
		return number
	case known:
		return k
	}
	switch name := lastName(c.dataType); name {
	case "decimal", "integer", "double", "float", "long", "int", "nonNegativeInteger", "positiveInteger":
		return number
	case "dateTime", "date", "dateTimeStamp":
		return instant
	case "duration", "dayTimeDuration", "yearMonthDuration":
		return lasting
	}
	if !slices.Contains(orderings, c.operator) || len(c.right) == 0 {
		return text
	}
	for kind, is := range map[kind]func(string) bool{
		number:  func(s string) bool { _, ok := parseDecimal(s); return ok },
		lasting: func(s string) bool { _, ok := parseDuration(s); return ok },
		instant: func(s string) bool { _, ok := parseInstant(s); return ok },
	} {
		if is(c.right[0].text) {
			return kind
		}
	}
	return text
}

// newLeaf never fails: what cannot be compared is a leaf that no fact makes true or false.
func (e *evaluable) newLeaf(c *constraintNode) *evalLeaf {
	l := &evalLeaf{leaf: leaf{source: c, operator: c.operator}}
	if c.operator == "isA" {
		l.operator = "isPartOf"
	}
	l.leaf.slot.operand = c.operand
	set := slices.Contains(setOperators, l.operator)
	ok := len(c.right) > 0 && (len(c.right) == 1 || set || c.operator == "isA" || c.operator == "isPartOf")
	if ok {
		switch e.kindOf(c) {
		case number:
			ok = l.compare(c, numberComparison(e.names, c))
		case lasting:
			ok = l.compare(c, durationComparison(e.names, c))
		case instant, window:
			ok = e.timeLeaf(l, c, set)
		case version:
			ok = e.versionLeaf(l, c)
		case paying:
			ok = e.amountLeaf(l, c)
		case happening:
			ok = e.eventLeaf(l, c)
		default:
			ok = e.textLeaf(l, c)
		}
	}
	if !ok {
		l.kind, l.operator, l.value, l.window = "none", "none", nil, false
		l.read = func(any) (any, bool) { return nil, false }
	}
	l.slot = l.leaf.slot.key() + "|" + l.kind
	if c.status != "" {
		l.slot += "#" + c.status
	}
	return l
}

// timeLeaf compares with the clock.
func (e *evaluable) timeLeaf(l *evalLeaf, c *constraintNode, set bool) bool {
	read := func(v any) (any, bool) {
		s, ok := textOf(v)
		at, good := parseInstant(s)
		if !ok || !good || at.from != at.to || at.beyond() {
			return nil, false
		}
		return integer(at.from), true
	}
	if e.kindOf(c) == instant {
		l.leaf.slot = slot{operand: c.operand}
		if len(c.right) == 1 && isUsage(e.names, c.right[0]) {
			l.kind, l.usage, l.read = "number", true, read
			return slices.Contains([]string{"eq", "neq", "lt", "lteq", "gt", "gteq"}, l.operator)
		}
		if set {
			return l.compare(c, comparison{kind: "number", value: read, fact: read})
		}
	}
	n := e.scratch()
	build := n.instantLeaf
	if e.kindOf(c) == window {
		build = n.windowLeaf
	}
	if !build(&l.leaf, c) {
		return false
	}
	l.read = read
	if l.leaf.slot.as == "clock" {
		l.read = func(v any) (any, bool) {
			s, ok := textOf(v)
			at, good := parseInstant(s)
			if !ok || !good || at.from != at.to || at.beyond() {
				return nil, false
			}
			return integer(((at.from % int64(day)) + int64(day)) % int64(day)), true
		}
		return true
	}
	l.leaf.slot.operand = c.operand
	if c.operand == "timeWindow" {
		l.leaf.slot.operand = "dateTime"
	}
	// A date among the facts is known to the day: only what compares whole days is sure of it.
	if at, ok := parseInstant(c.right[0].text); ok && at.from != at.to {
		l.leaf.slot.as = "day"
		l.read = func(v any) (any, bool) {
			s, ok := textOf(v)
			at, good := parseInstant(s)
			if !ok || !good || at.beyond() {
				return nil, false
			}
			return integer(at.from), true
		}
	}
	return true
}

func (e *evaluable) versionLeaf(l *evalLeaf, c *constraintNode) bool {
	read := func(v any) (any, bool) {
		s, ok := textOf(v)
		if !ok {
			return nil, false
		}
		return asAny(parseSemver(s))
	}
	return l.compare(c, comparison{kind: "ordered", value: read, fact: read})
}

// amountLeaf compares money of one currency. Where the policy names none, numbers are compared.
func (e *evaluable) amountLeaf(l *evalLeaf, c *constraintNode) bool {
	currency := e.currencyOf(c.unit)
	number := func(v any) (any, bool) {
		s, ok := textOf(v)
		x, good := parseDecimal(s)
		if !ok || !good {
			return nil, false
		}
		return asAny(ordered(x))
	}
	if !l.compare(c, comparison{kind: "ordered", as: currency, value: number}) {
		return false
	}
	l.read = func(v any) (any, bool) {
		amount, unit := amountOf(v)
		switch {
		case unit == "":
			return number(amount)
		case e.currencyOf(reference{iri: e.names.expand(unit)}) != currency:
			return nil, false
		}
		return number(amount)
	}
	if !e.literal { // the gateway knows amounts with their currency only
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
			return asAny(ordered(big.NewRat(a.Nano, money.Unit)))
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
				unit, _ = nameOf(u)
			}
		}
		if value, has := m["value"]; has {
			amount = value
		}
	}
	if s, ok := textOf(amount); ok {
		if number, of, cut := strings.Cut(s, " "); cut {
			return number, of
		}
	}
	return amount, unit
}

// currencyOf is the ISO 4217 code of a unit, else its name.
func (e *evaluable) currencyOf(unit reference) string {
	if unit.iri == "" {
		return ""
	}
	if code, ok := e.scratch().currency(unit); ok {
		return code
	}
	return unit.iri
}

// eventLeaf compares with the course of a named event: before it, during it, after it.
func (e *evaluable) eventLeaf(l *evalLeaf, c *constraintNode) bool {
	if len(c.right) != 1 || !slices.Contains([]string{"eq", "neq", "lt", "lteq", "gt", "gteq"}, l.operator) {
		return false
	}
	if isUsage(e.names, c.right[0]) {
		l.kind, l.usage, l.leaf.slot = "number", true, slot{operand: "dateTime"}
		return e.timeLeaf(l, &constraintNode{operand: "dateTime", operator: c.operator, right: c.right}, false)
	}
	return l.compare(c, eventComparison(e.names, c))
}

func (e *evaluable) textLeaf(l *evalLeaf, c *constraintNode) bool {
	k := *c
	k.unit = reference{}
	k.right = slices.Clone(c.right)
	if c.operand == "publicKey" {
		return e.keyLeaf(l, c)
	}
	parted := l.operator == "isPartOf" || l.operator == "hasPart"
	many := parted && len(c.right) > 1 && l.operator == "isPartOf"
	if !e.scratch().textLeaf(&l.leaf, &k) {
		return false
	}
	if parted && l.kind == "text" && e.literal {
		l.kind = "class"
	}
	if many {
		return false
	}
	as := l.leaf.slot.as
	l.read = func(v any) (any, bool) {
		if e.literal {
			v = plain(v)
		}
		s, ok := v.(string)
		if !ok || s == "" {
			return nil, false
		}
		if long := e.names.expand(s); e.literal && absolute(long) {
			s = long
		}
		if as != string(mixed) && formOf(c.operand, s) != form(as) {
			return nil, false
		}
		return canonicalText(c.operand, s), true
	}
	return true
}

// keyLeaf compares keys by what they are, not by how they are written.
func (e *evaluable) keyLeaf(l *evalLeaf, c *constraintNode) bool {
	if l.operator == "use" {
		l.operator = "eq"
	}
	read := func(v any) (any, bool) {
		s, _ := plain(v).(string)
		der, ok := parseKey(s)
		return keyText(der), ok
	}
	return l.compare(c, comparison{kind: "text", value: read, fact: read})
}

// factOf reads the values of one operand for a leaf; nil where any of them is not of its kind.
func (l *evalLeaf) factOf(v any) []any {
	values, ok := factList(v)
	if !ok {
		return nil
	}
	list := make([]any, 0, len(values))
	for _, one := range values {
		x, ok := l.read(one)
		switch {
		case ok:
			list = append(list, x)
		case operands[l.leaf.slot.operand] == happening: // other events say nothing of this one
		default:
			return nil
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// factList is the values of one fact; false where there are none, or too many.
func factList(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, len(v) > 0 && len(v) <= maxFacts
	case []string:
		return anys(v), len(v) > 0 && len(v) <= maxFacts
	default:
		return []any{v}, true
	}
}

// maxFacts bounds the values of one operand. More are no facts at all.
const maxFacts = 64
