package odrl

import (
	"math/big"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/money"
)

// An evalLeaf is a constraint as the whole evaluation compares it, with the way its facts are read.
type evalLeaf struct {
	leaf
	slot  string
	usage bool // the right operand is the time of use
	read  func(any) (any, bool)
}

// How the values of the left operands compare that the gateway itself has no facts for. ODRL V 4.5.
var evaluated = func() map[string]valueKind {
	m := map[string]valueKind{
		"event": asEvent, "intentPrice": asAmount, "payAmount": asAmount, "dateTime": asInstant, "timeWindow": asWindow, "version": asVersion,
	}
	for name := range strings.FieldsSeq(`count rateLimit percentage absolutePosition absoluteSize absoluteSpatialPosition absoluteTemporalPosition
		relativePosition relativeSize relativeSpatialPosition relativeTemporalPosition resolution`) {
		m[name] = asNumber
	}
	for name := range strings.FieldsSeq(`delayPeriod elapsedTime meteredTime timeInterval dataRetention`) {
		m[name] = asDuration
	}
	return m
}()

type valueKind int

const (
	asText valueKind = iota
	asNumber
	asDuration
	asInstant
	asWindow
	asVersion
	asAmount
	asEvent
)

// kindOf says how the values of an operand compare; of one that no vocabulary describes, by the data
// type or the look of the value it is compared with.
func (e *evaluable) kindOf(c *constraintNode) valueKind {
	if k, ok := evaluated[c.operand]; ok {
		return k
	}
	if _, known := operands[c.operand]; known {
		return asText
	}
	switch name := lastName(c.dataType); name {
	case "decimal", "integer", "double", "float", "long", "int", "nonNegativeInteger", "positiveInteger":
		return asNumber
	case "dateTime", "date", "dateTimeStamp":
		return asInstant
	case "duration", "dayTimeDuration", "yearMonthDuration":
		return asDuration
	}
	if !slices.Contains(orderings, c.operator) || len(c.right) == 0 {
		return asText
	}
	for kind, is := range map[valueKind]func(string) bool{
		asNumber:   func(s string) bool { _, ok := parseDecimal(s); return ok },
		asDuration: func(s string) bool { _, ok := parseDuration(s); return ok },
		asInstant:  func(s string) bool { _, ok := parseInstant(s); return ok },
	} {
		if is(c.right[0].text) {
			return kind
		}
	}
	return asText
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
		case asNumber:
			ok = e.numberLeaf(l, c, set)
		case asDuration:
			ok = e.durationLeaf(l, c)
		case asInstant, asWindow:
			ok = e.timeLeaf(l, c, set)
		case asVersion:
			ok = e.versionLeaf(l, c, set)
		case asAmount:
			ok = e.amountLeaf(l, c, set)
		case asEvent:
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

// compare fills kind, value and reader of a leaf whose right operands and facts are read alike.
func (l *evalLeaf) compare(kind string, c *constraintNode, set bool, read func(any) (any, bool)) bool {
	switch l.operator {
	case "isPartOf", "hasPart", "within", "outside", "use":
		return false
	}
	if set && slices.Contains(orderings, l.operator) {
		return false
	}
	values := make([]any, 0, len(c.right))
	for _, r := range c.right {
		v, ok := read(r.text)
		if !ok || r.window {
			return false
		}
		values = append(values, v)
	}
	l.kind, l.read, l.value = kind, read, values[0]
	if set {
		l.value = values
	}
	return true
}

func (e *evaluable) numberLeaf(l *evalLeaf, c *constraintNode, set bool) bool {
	unit, factor, measured := measureOf(e.unitName(c))
	if c.unit.iri != "" && (c.operand == "count" || c.operand == "rateLimit") {
		l.leaf.slot.as, measured = "", false // a period: whoever gives a count gives that of the period
	} else {
		l.leaf.slot.as = unit
	}
	read := func(v any) (any, bool) {
		s, ok := textOf(v)
		f := factor
		if m, isObject := v.(map[string]any); isObject && m["unit"] != nil {
			name, _ := nameOf(m["unit"])
			other, by, _ := measureOf(lastName(e.names.expand(name)))
			if other != unit {
				return nil, false
			}
			f = by
			if value, has := m["value"]; has {
				s, ok = textOf(value)
			}
		}
		x, good := parseDecimal(s)
		if !ok || !good {
			return nil, false
		}
		if measured {
			x = new(big.Rat).Mul(x, f)
		}
		list, good := ordered(x)
		return list, good
	}
	return l.compare("ordered", c, set, read)
}

func (e *evaluable) unitName(c *constraintNode) string {
	if name, ok := e.names.local(c.unit.iri, e.names.namespaces, unitNamespaces); ok {
		return name
	}
	return c.unit.iri
}

// durationLeaf compares lengths of time. A number with a unit of time is one too.
func (e *evaluable) durationLeaf(l *evalLeaf, c *constraintNode) bool {
	as := map[string]string{"lt": "shorter", "lteq": "shorter-or-same", "gt": "longer", "gteq": "longer-or-same"}
	if op, ok := as[l.operator]; ok {
		l.operator = op
	}
	unit := e.unitName(c)
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
	if unit != "" { // a bare number of the facts means that unit
		l.leaf.slot.as = strings.ToLower(strings.TrimSuffix(unit, "s"))
	}
	return l.compare("duration", c, slices.Contains(setOperators, c.operator), read)
}

// timeLeaf compares with the clock.
func (e *evaluable) timeLeaf(l *evalLeaf, c *constraintNode, set bool) bool {
	instant := func(v any) (any, bool) {
		s, ok := textOf(v)
		at, good := parseInstant(s)
		if !ok || !good || at.from != at.to || at.beyond() {
			return nil, false
		}
		return integer(at.from), true
	}
	if e.kindOf(c) == asInstant {
		l.leaf.slot = slot{operand: c.operand}
		if len(c.right) == 1 && e.isUsage(c.right[0]) {
			l.kind, l.usage, l.read = "number", true, instant
			return slices.Contains([]string{"eq", "neq", "lt", "lteq", "gt", "gteq"}, l.operator)
		}
		if set {
			return l.compare("number", c, true, instant)
		}
	}
	n := e.scratch()
	build := n.instantLeaf
	if e.kindOf(c) == asWindow {
		build = n.windowLeaf
	}
	if !build(&l.leaf, c) {
		return false
	}
	l.read = instant
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

func (e *evaluable) isUsage(r literal) bool {
	name, ok := e.names.local(r.text, e.names.namespaces)
	return ok && name == "policyUsage"
}

func (e *evaluable) versionLeaf(l *evalLeaf, c *constraintNode, set bool) bool {
	return l.compare("ordered", c, set, func(v any) (any, bool) {
		s, ok := textOf(v)
		if !ok {
			return nil, false
		}
		return asAny(parseSemver(s))
	})
}

func asAny(list []any, ok bool) (any, bool) { return list, ok }

// amountLeaf compares money of one currency. Where the policy names none, numbers are compared.
func (e *evaluable) amountLeaf(l *evalLeaf, c *constraintNode, set bool) bool {
	currency := e.currencyOf(c.unit)
	l.leaf.slot.as = currency
	number := func(v any) (any, bool) {
		s, ok := textOf(v)
		x, good := parseDecimal(s)
		if !ok || !good {
			return nil, false
		}
		return asAny(ordered(x))
	}
	if !l.compare("ordered", c, set, number) {
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
	name := e.names.expand(c.right[0].text)
	if e.isUsage(c.right[0]) {
		l.kind, l.usage, l.leaf.slot = "number", true, slot{operand: "dateTime"}
		return e.timeLeaf(l, &constraintNode{operand: "dateTime", operator: c.operator, right: c.right}, false)
	}
	l.kind, l.value, l.leaf.slot.as = "number", integer(0), name
	course := map[string]int64{"before": -1, "during": 0, "after": 1}
	l.read = func(v any) (any, bool) {
		if m, ok := v.(map[string]any); ok && m["@id"] == nil && m["uid"] == nil {
			for k, state := range m {
				s, _ := state.(string)
				if at, known := course[s]; known && e.names.expand(k) == name {
					return integer(at), true
				}
			}
			return nil, false
		}
		s, ok := textOf(v)
		return integer(0), ok && e.names.expand(s) == name
	}
	return true
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
	return l.compare("text", c, slices.Contains(setOperators, l.operator), func(v any) (any, bool) {
		s, _ := plain(v).(string)
		der, ok := parseKey(s)
		return keyText(der), ok
	})
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
		case l.leaf.slot.operand == "event": // other events say nothing of this one
		default:
			return nil
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list
}
