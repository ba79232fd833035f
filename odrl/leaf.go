package odrl

import (
	"slices"
	"strings"
)

// A leaf is a constraint in normal form: what data.policy.leaves holds.
type leaf struct {
	id       string
	source   *constraintNode
	slot     slot
	kind     string // text, code, number, version, ordered, duration: the type guard of semantics.rego
	operator string
	value    any // what JSON holds
	window   bool
	from, to int64
	read     func(any) (any, bool) // one fact as it is compared; nil: in a Decision a policySlot reads it
}

// A slot is one place for facts in input.facts: a left operand, with the form of text or the currency
// in which its values are wanted.
type slot struct {
	operand string // local name, which is also the key of Request.Facts
	as      string // form of text, currency, unit, name of the event, or "clock" for the time of day
}

func (s slot) key() string {
	if s.as == "" {
		return s.operand
	}
	return s.operand + "/" + s.as
}

func versionValue(v [3]int64) []any { return []any{integer(v[0]), integer(v[1]), integer(v[2])} }

// newLeaf turns a constraint into normal form. false, with a problem, where the gateway could not
// decide it.
func (n *normalizer) newLeaf(c *constraintNode) (*leaf, bool) {
	l := &leaf{source: c, operator: c.operator}
	if c.operator == "isA" {
		l.operator = "isPartOf"
	}
	if c.status != "" {
		n.problems.Errorf("status", c.pointer, "only a count has a status")
		return nil, false
	}
	if len(c.right) > 1 && !slices.Contains(setOperators, l.operator) {
		n.problems.Errorf("cardinality", c.pointer, "%s compares with one value, not %d: use isAnyOf, isNoneOf or isAllOf", c.operator, len(c.right))
		return nil, false
	}
	ok := false
	switch k := operands[c.operand]; k {
	case text, code:
		ok = n.textLeaf(l, c)
	case instant:
		ok = n.instantLeaf(l, c)
	case window:
		ok = n.windowLeaf(l, c)
	case version:
		ok = n.versionLeaf(l, c)
	case paying:
		ok = n.moneyLeaf(l, c)
	case number:
		ok = n.readLeaf(l, c, numberComparison(n.names, c))
	case lasting:
		ok = n.readLeaf(l, c, durationComparison(n.names, c))
	case happening:
		ok = n.eventLeaf(l, c)
	case keyed:
		n.problems.Errorf("public-key", c.pointer, "publicKey narrows signPayload alone")
	case limiting:
		n.problems.Errorf("limit", c.pointer, "%s limits a permission or a prohibition of execute, outside or, xone and andSequence", c.operand)
	default:
		n.problems.Errorf("no-facts", c.pointer, "nothing is known of the left operand %s, so it cannot be enforced", c.operand)
	}
	if ok && c.unit.iri != "" && !slices.Contains(measurable, operands[c.operand]) {
		n.problems.Errorf("unit", c.unit.pointer, "%s has no unit", c.operand)
		return nil, false
	}
	return l, ok
}

// measurable are the kinds of operands whose values may have a unit.
var measurable = []kind{paying, number, lasting}

// allow reports an operator that makes no sense for the operand.
func (n *normalizer) allow(l *leaf, allowed ...string) bool {
	if slices.Contains(allowed, l.operator) {
		return true
	}
	n.problems.Errorf("operator", l.source.pointer, "%s cannot be compared by %s: use %s", l.source.operand, l.source.operator, strings.Join(allowed, ", "))
	return false
}

func (n *normalizer) textLeaf(l *leaf, c *constraintNode) bool {
	if !n.allow(l, "eq", "neq", "isAnyOf", "isNoneOf", "isAllOf", "isPartOf", "hasPart") {
		return false
	}
	var f form
	ranges := false
	values := make([]any, 0, len(c.right))
	for i, r := range c.right {
		if r.window || r.text == "" {
			n.problems.Errorf("value", r.pointer, "%s compares with a text or an IRI", c.operand)
			return false
		}
		this := formOf(c.operand, r.text)
		if i > 0 && this != f {
			this = mixed
		}
		f = this
		ranges = ranges || isRange(c.operand, r.text)
		values = append(values, canonicalText(c.operand, r.text))
	}
	if c.operand == "virtualLocation" && f == mixed {
		n.problems.Errorf("value", c.pointer, "addresses, domain names and IRIs are not comparable with one another: write a constraint for each kind")
		return false
	}
	l.kind = "text"
	if f.contains() {
		l.kind = "code"
	}
	if !f.contains() && (l.operator == "isPartOf" || l.operator == "hasPart") {
		n.problems.Warnf("taxonomy", c.pointer, "no taxonomy of %s is known: %s is true of equal values and unknown of all others; isAnyOf decides both ways", c.operand, c.operator)
	}
	l.slot = slot{c.operand, string(f)}
	l.value = values[0]
	if slices.Contains(setOperators, l.operator) {
		l.value = values
	}
	if ranges { // to be at a range of addresses is to be in it
		if !n.allow(l, "eq", "neq", "isAnyOf", "isNoneOf", "isPartOf", "hasPart") {
			return false
		}
		if in, ok := map[string]string{"eq": "isPartOf", "neq": "isNotPartOf", "isAnyOf": "isAnyPartOf", "isNoneOf": "isNonePartOf"}[l.operator]; ok {
			l.operator = in
		}
	}
	return true
}

// instantLeaf compares instants. A date without a time is its whole UTC day: before it, within it, after it.
func (n *normalizer) instantLeaf(l *leaf, c *constraintNode) bool {
	l.kind, l.slot = "number", slot{operand: "dateTime"}
	if l.operator == "isPartOf" {
		l.operator = "within"
	}
	if l.operator == "within" || l.operator == "outside" {
		return n.windowLeaf(l, c)
	}
	if !n.allow(l, "eq", "neq", "lt", "lteq", "gt", "gteq") {
		return false
	}
	at, ok := parseInstant(c.right[0].text)
	if !ok {
		n.problems.Errorf("date", c.right[0].pointer, "%s is no date or dateTime such as 2026-12-31 or 2026-12-31T23:59:59Z", quote(c.right[0].text))
		return false
	}
	if at.zoneless {
		n.problems.Warnf("zone", c.right[0].pointer, "a dateTime without a zone is read as UTC")
	}
	if at.from == at.to {
		l.value = integer(at.from)
		return true
	}
	switch l.operator {
	case "eq", "neq":
		l.operator = map[string]string{"eq": "within", "neq": "outside"}[l.operator]
		l.window, l.from, l.to = true, at.from, at.to
	case "lt":
		l.value = integer(at.from)
	case "lteq":
		l.operator, l.value = "lt", integer(at.to)
	case "gt":
		l.operator, l.value = "gteq", integer(at.to)
	case "gteq":
		l.value = integer(at.from)
	}
	return true
}

// windowLeaf reads {start, end} or start/end, of times of day or of instants.
func (n *normalizer) windowLeaf(l *leaf, c *constraintNode) bool {
	if l.operator == "isPartOf" {
		l.operator = "within"
	}
	if !n.allow(l, "within", "outside") {
		return false
	}
	r := c.right[0]
	start, end := r.start, r.end
	if !r.window {
		var ok bool
		if start, end, ok = strings.Cut(r.text, "/"); !ok {
			n.problems.Errorf("window", r.pointer, "a window is an object with start and end, or an interval such as 09:00:00Z/17:00:00Z")
			return false
		}
	}
	l.kind, l.window = "number", true
	from, zoneless, ok := parseClock(start)
	to, zoneless2, ok2 := parseClock(end)
	if ok && ok2 && c.operand == "timeWindow" {
		l.slot = slot{"dateTime", "clock"}
		if zoneless || zoneless2 {
			n.problems.Warnf("zone", r.pointer, "a time of day without a zone is read as UTC")
		}
		l.from, l.to = from%int64(day), to
		if l.from == l.to || l.from == 0 && l.to == 0 {
			n.problems.Errorf("window", r.pointer, "the window ends where it starts")
			return false
		}
		if l.to == 0 {
			l.to = int64(day)
		}
		return true
	}
	a, ok := parseInstant(start)
	b, ok2 := parseInstant(end)
	if !ok || !ok2 {
		n.problems.Errorf("window", r.pointer, "start and end are both times of day (09:00:00Z) or both dateTimes (2026-12-31T23:59:59Z)")
		return false
	}
	if a.zoneless || b.zoneless {
		n.problems.Warnf("zone", r.pointer, "a dateTime without a zone is read as UTC")
	}
	l.slot, l.from, l.to = slot{operand: "dateTime"}, a.from, b.to
	if l.from >= l.to {
		n.problems.Errorf("window", r.pointer, "the window ends before it starts")
		return false
	}
	return true
}

func (n *normalizer) versionLeaf(l *leaf, c *constraintNode) bool {
	if !n.allow(l, append([]string{"eq", "neq", "isAnyOf", "isNoneOf"}, orderings...)...) {
		return false
	}
	l.kind, l.slot = "version", slot{operand: "version"}
	values := make([]any, 0, len(c.right))
	for _, r := range c.right {
		v, ok := parseVersion(r.text)
		if !ok {
			n.problems.Errorf("version", r.pointer, "%s is no version such as v1 or 1.2.3", quote(r.text))
			return false
		}
		values = append(values, versionValue(v))
	}
	l.value = values[0]
	if slices.Contains(setOperators, l.operator) {
		l.value = values
	}
	return true
}

// moneyLeaf compares a price with an amount. Facts in another currency are unknown to it.
func (n *normalizer) moneyLeaf(l *leaf, c *constraintNode) bool {
	if !n.allow(l, append([]string{"eq", "neq"}, orderings...)...) {
		return false
	}
	a, ok := n.amount(c)
	if !ok {
		return false
	}
	l.kind, l.slot, l.value = "number", slot{c.operand, a.Currency}, integer(a.Nano)
	return true
}

// A compound is a logical constraint in normal form.
type compound struct {
	id       string
	source   *constraintNode
	level    int
	operator string
	operands []string
}
