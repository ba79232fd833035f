package rules

import (
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// instantLeaf compares instants. A date without a time means its whole UTC day.
func (k *compiler) instantLeaf(l *Leaf, c *model.Constraint) bool {
	l.Kind, l.read = "number", instantFact
	if k.mode != enforcing {
		switch {
		case k.isUsage(c):
			l.usage = true
			return slices.Contains(instants, l.Operator)
		case slices.Contains(model.SetOperators, l.Operator):
			return slices.Contains(quantities, l.Operator) && k.compare(l, c, comparison{kind: "number", value: instantFact, fact: instantFact})
		}
	}
	if slices.Contains([]string{"isPartOf", "within", "outside"}, l.Operator) {
		return k.windowLeaf(l, c)
	}
	if !k.allow(l, instants...) {
		return false
	}
	at, ok := model.ParseInstant(c.Right[0].Text)
	if !ok {
		k.Problems.Errorf("date", c.Right[0].Pointer, "%s is not a date or dateTime such as 2026-12-31 or 2026-12-31T23:59:59Z",
			model.Quote(c.Right[0].Text))
		return false
	}
	if at.Zoneless {
		k.Problems.Warnf("zone", c.Right[0].Pointer, "a dateTime without a time zone is read as UTC")
	}
	if at.From == at.To {
		l.Value = model.Integer(at.From)
		return true
	}
	if k.mode != enforcing { // a fact may be a date, so only comparisons of whole days are certain
		l.Slot.As, l.read = "day", dayFact
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

// windowLeaf compares times with a window of times of day or of instants, given as {start, end} or as start/end.
func (k *compiler) windowLeaf(l *Leaf, c *model.Constraint) bool {
	if l.Operator == "isPartOf" {
		l.Operator = "within"
	}
	if !k.allow(l, "within", "outside") {
		return false
	}
	r := c.Right[0]
	start, end := r.Start, r.End
	if !r.Window {
		var ok bool
		if start, end, ok = strings.Cut(r.Text, "/"); !ok {
			k.Problems.Errorf("window", r.Pointer, "a window must be an object with start and end, or an interval such as 09:00:00Z/17:00:00Z")
			return false
		}
	}
	l.Kind, l.Window, l.read = "number", true, instantFact
	from, zoneless, ok := model.ParseClock(start)
	to, zoneless2, ok2 := model.ParseClock(end)
	if ok && ok2 && c.Operand == "timeWindow" {
		if zoneless || zoneless2 {
			k.Problems.Warnf("zone", r.Pointer, "a time of day without a time zone is read as UTC")
		}
		return k.clockLeaf(l, r, from%int64(model.Day), to)
	}
	a, ok := model.ParseInstant(start)
	b, ok2 := model.ParseInstant(end)
	if !ok || !ok2 {
		k.Problems.Errorf("window", r.Pointer, "start and end must both be times of day (09:00:00Z) or both be dateTimes (2026-12-31T23:59:59Z)")
		return false
	}
	if a.Zoneless || b.Zoneless {
		k.Problems.Warnf("zone", r.Pointer, "a dateTime without a time zone is read as UTC")
	}
	if c.Operand == "timeWindow" {
		l.Slot.Operand = "dateTime"
	}
	l.From, l.To = a.From, b.To
	if l.From >= l.To {
		k.Problems.Errorf("window", r.Pointer, "the window ends before it starts")
		return false
	}
	return true
}

// clockLeaf compares the time of day with a window.
func (k *compiler) clockLeaf(l *Leaf, r model.Literal, from, to int64) bool {
	l.Slot, l.read, l.From, l.To = Slot{"dateTime", "clock"}, clockFact, from, to
	if from == to || from == 0 && to == 0 {
		k.Problems.Errorf("window", r.Pointer, "the window ends where it starts")
		return false
	}
	if to == 0 {
		l.To = int64(model.Day)
	}
	return true
}

// isUsage reports whether the right operand is odrl:policyUsage, the time of use.
func (k *compiler) isUsage(c *model.Constraint) bool {
	name, ok := k.Local(c.Right[0].Text, k.Namespaces)
	return ok && name == "policyUsage" && len(c.Right) == 1
}

func instantFact(v any) (any, bool) {
	at, ok := factInstant(v)
	return model.Integer(at.From), ok && at.From == at.To
}

func clockFact(v any) (any, bool) {
	at, ok := factInstant(v)
	day := int64(model.Day)
	return model.Integer((at.From%day + day) % day), ok && at.From == at.To
}

// dayFact is like instantFact, but also accepts dates.
func dayFact(v any) (any, bool) {
	at, ok := factInstant(v)
	return model.Integer(at.From), ok
}

func factInstant(v any) (model.Interval, bool) {
	s, ok := model.TextOf(v)
	at, good := model.ParseInstant(s)
	return at, ok && good && !at.Beyond()
}
