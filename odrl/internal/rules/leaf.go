package rules

import (
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A Leaf is a constraint in normal form: what data.policy.leaves holds.
type Leaf struct {
	ID       string
	Source   *model.Constraint
	Slot     Slot
	Kind     string // text, code, number, version, ordered, duration: the type guard of semantics.rego
	Operator string
	Value    any // what JSON holds
	Window   bool
	From, To int64
	read     func(any) (any, bool) // one fact as it is compared; nil: in a Decision a policySlot reads it
}

// A Slot is one place for facts in input.facts: a left operand, with the form of text or the currency
// in which its values are wanted.
type Slot struct {
	Operand string // local name, which is also the key of Request.Facts
	As      string // form of text, currency, unit, name of the event, or "clock" for the time of day
}

// Key is the name of the slot in input.facts.
func (s Slot) Key() string {
	if s.As == "" {
		return s.Operand
	}
	return s.Operand + "/" + s.As
}

func versionValue(v [3]int64) []any {
	return []any{model.Integer(v[0]), model.Integer(v[1]), model.Integer(v[2])}
}

// newLeaf turns a constraint into normal form. false, with a problem, where the gateway could not
// decide it.
func (n *normalizer) newLeaf(c *model.Constraint) (*Leaf, bool) {
	l := &Leaf{Source: c, Operator: c.Operator}
	if c.Operator == "isA" {
		l.Operator = "isPartOf"
	}
	if c.Status != "" {
		n.Problems.Errorf("status", c.Pointer, "only a count has a status")
		return nil, false
	}
	if len(c.Right) > 1 && !slices.Contains(model.SetOperators, l.Operator) {
		n.Problems.Errorf("cardinality", c.Pointer, "%s compares with one value, not %d: use isAnyOf, isNoneOf or isAllOf", c.Operator, len(c.Right))
		return nil, false
	}
	ok := false
	switch c.Left().Kind {
	case model.Text, model.Code:
		ok = n.textLeaf(l, c)
	case model.Instant:
		ok = n.instantLeaf(l, c)
	case model.Window:
		ok = n.windowLeaf(l, c)
	case model.Version:
		ok = n.versionLeaf(l, c)
	case model.Money:
		ok = n.moneyLeaf(l, c)
	case model.Number:
		ok = n.readLeaf(l, c, numberComparison(n.Names, c))
	case model.Duration:
		ok = n.readLeaf(l, c, durationComparison(n.Names, c))
	case model.Event:
		ok = n.eventLeaf(l, c)
	case model.Key:
		n.Problems.Errorf("public-key", c.Pointer, "publicKey narrows signPayload alone")
	case model.Count:
		n.Problems.Errorf("limit", c.Pointer, "%s limits a permission or a prohibition of execute, outside or, xone and andSequence", c.Operand)
	default:
		n.Problems.Errorf("no-facts", c.Pointer, "nothing is known of the left operand %s, so it cannot be enforced", c.Operand)
	}
	if ok && c.Unit.IRI != "" && !slices.Contains(measurable, c.Left().Kind) {
		n.Problems.Errorf("unit", c.Unit.Pointer, "%s has no unit", c.Operand)
		return nil, false
	}
	return l, ok
}

// measurable are the kinds of operands whose values may have a unit.
var measurable = []model.Kind{model.Money, model.Number, model.Duration}

// allow reports an operator that makes no sense for the operand.
func (n *normalizer) allow(l *Leaf, allowed ...string) bool {
	if slices.Contains(allowed, l.Operator) {
		return true
	}
	n.Problems.Errorf("operator", l.Source.Pointer, "%s cannot be compared by %s: use %s", l.Source.Operand, l.Source.Operator, strings.Join(allowed, ", "))
	return false
}

func (n *normalizer) textLeaf(l *Leaf, c *model.Constraint) bool {
	if !n.allow(l, "eq", "neq", "isAnyOf", "isNoneOf", "isAllOf", "isPartOf", "hasPart") {
		return false
	}
	left := c.Left()
	var f model.TextForm
	ranges := false
	values := make([]any, 0, len(c.Right))
	for i, r := range c.Right {
		if r.Window || r.Text == "" {
			n.Problems.Errorf("value", r.Pointer, "%s compares with a text or an IRI", c.Operand)
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
		n.Problems.Errorf("value", c.Pointer, "addresses, domain names and IRIs are not comparable with one another: write a constraint for each kind")
		return false
	}
	l.Kind = "text"
	if f.Contains() {
		l.Kind = "code"
	}
	if !f.Contains() && (l.Operator == "isPartOf" || l.Operator == "hasPart") {
		n.Problems.Warnf("taxonomy", c.Pointer, "no taxonomy of %s is known: %s is true of equal values and unknown of all others; isAnyOf decides both ways", c.Operand, c.Operator)
	}
	l.Slot = Slot{c.Operand, string(f)}
	l.Value = values[0]
	if slices.Contains(model.SetOperators, l.Operator) {
		l.Value = values
	}
	if ranges { // to be at a range of addresses is to be in it
		if !n.allow(l, "eq", "neq", "isAnyOf", "isNoneOf", "isPartOf", "hasPart") {
			return false
		}
		if in, ok := map[string]string{"eq": "isPartOf", "neq": "isNotPartOf", "isAnyOf": "isAnyPartOf", "isNoneOf": "isNonePartOf"}[l.Operator]; ok {
			l.Operator = in
		}
	}
	return true
}

// instantLeaf compares instants. A date without a time is its whole UTC day: before it, within it, after it.
func (n *normalizer) instantLeaf(l *Leaf, c *model.Constraint) bool {
	l.Kind, l.Slot = "number", Slot{Operand: "dateTime"}
	if l.Operator == "isPartOf" {
		l.Operator = "within"
	}
	if l.Operator == "within" || l.Operator == "outside" {
		return n.windowLeaf(l, c)
	}
	if !n.allow(l, "eq", "neq", "lt", "lteq", "gt", "gteq") {
		return false
	}
	at, ok := model.ParseInstant(c.Right[0].Text)
	if !ok {
		n.Problems.Errorf("date", c.Right[0].Pointer, "%s is no date or dateTime such as 2026-12-31 or 2026-12-31T23:59:59Z", model.Quote(c.Right[0].Text))
		return false
	}
	if at.Zoneless {
		n.Problems.Warnf("zone", c.Right[0].Pointer, "a dateTime without a zone is read as UTC")
	}
	if at.From == at.To {
		l.Value = model.Integer(at.From)
		return true
	}
	switch l.Operator {
	case "eq", "neq":
		l.Operator = map[string]string{"eq": "within", "neq": "outside"}[l.Operator]
		l.Window, l.From, l.To = true, at.From, at.To
	case "lt":
		l.Value = model.Integer(at.From)
	case "lteq":
		l.Operator, l.Value = "lt", model.Integer(at.To)
	case "gt":
		l.Operator, l.Value = "gteq", model.Integer(at.To)
	case "gteq":
		l.Value = model.Integer(at.From)
	}
	return true
}

// windowLeaf reads {start, end} or start/end, of times of day or of instants.
func (n *normalizer) windowLeaf(l *Leaf, c *model.Constraint) bool {
	if l.Operator == "isPartOf" {
		l.Operator = "within"
	}
	if !n.allow(l, "within", "outside") {
		return false
	}
	r := c.Right[0]
	start, end := r.Start, r.End
	if !r.Window {
		var ok bool
		if start, end, ok = strings.Cut(r.Text, "/"); !ok {
			n.Problems.Errorf("window", r.Pointer, "a window is an object with start and end, or an interval such as 09:00:00Z/17:00:00Z")
			return false
		}
	}
	l.Kind, l.Window = "number", true
	from, zoneless, ok := model.ParseClock(start)
	to, zoneless2, ok2 := model.ParseClock(end)
	if ok && ok2 && c.Operand == "timeWindow" {
		l.Slot = Slot{"dateTime", "clock"}
		if zoneless || zoneless2 {
			n.Problems.Warnf("zone", r.Pointer, "a time of day without a zone is read as UTC")
		}
		l.From, l.To = from%int64(model.Day), to
		if l.From == l.To || l.From == 0 && l.To == 0 {
			n.Problems.Errorf("window", r.Pointer, "the window ends where it starts")
			return false
		}
		if l.To == 0 {
			l.To = int64(model.Day)
		}
		return true
	}
	a, ok := model.ParseInstant(start)
	b, ok2 := model.ParseInstant(end)
	if !ok || !ok2 {
		n.Problems.Errorf("window", r.Pointer, "start and end are both times of day (09:00:00Z) or both dateTimes (2026-12-31T23:59:59Z)")
		return false
	}
	if a.Zoneless || b.Zoneless {
		n.Problems.Warnf("zone", r.Pointer, "a dateTime without a zone is read as UTC")
	}
	l.Slot, l.From, l.To = Slot{Operand: "dateTime"}, a.From, b.To
	if l.From >= l.To {
		n.Problems.Errorf("window", r.Pointer, "the window ends before it starts")
		return false
	}
	return true
}

func (n *normalizer) versionLeaf(l *Leaf, c *model.Constraint) bool {
	if !n.allow(l, append([]string{"eq", "neq", "isAnyOf", "isNoneOf"}, model.Orderings...)...) {
		return false
	}
	l.Kind, l.Slot = "version", Slot{Operand: "version"}
	values := make([]any, 0, len(c.Right))
	for _, r := range c.Right {
		v, ok := model.ParseVersion(r.Text)
		if !ok {
			n.Problems.Errorf("version", r.Pointer, "%s is no version such as v1 or 1.2.3", model.Quote(r.Text))
			return false
		}
		values = append(values, versionValue(v))
	}
	l.Value = values[0]
	if slices.Contains(model.SetOperators, l.Operator) {
		l.Value = values
	}
	return true
}

// moneyLeaf compares a price with an amount. Facts in another currency are unknown to it.
func (n *normalizer) moneyLeaf(l *Leaf, c *model.Constraint) bool {
	if !n.allow(l, append([]string{"eq", "neq"}, model.Orderings...)...) {
		return false
	}
	a, ok := n.amount(c)
	if !ok {
		return false
	}
	l.Kind, l.Slot, l.Value = "number", Slot{c.Operand, a.Currency}, model.Integer(a.Nano)
	return true
}

// A compound is a logical constraint in normal form.
type compound struct {
	id       string
	source   *model.Constraint
	level    int
	operator string
	operands []string
}
