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
	Key      string // of the slot in input.facts
	Kind     string // the type guard of constraints.rego; "none": no fact makes the leaf true or false
	Operator string
	Value    any // a JSON value
	Window   bool
	From, To int64
	usage    bool                  // the right operand is the time of use
	read     func(any) (any, bool) // one fact in the form for comparison; nil: the plan parses texts, versions and money itself
}

// A Slot is one place for facts in input.facts: a left operand, with the form of its values.
type Slot struct {
	Operand string // local name, which is also the key of Request.Facts
	As      string // form of text, currency, unit, name of the event, "clock" for the time of day, "day" for whole days
}

// Key is the name of the slot in input.facts.
func (s Slot) Key() string {
	if s.As == "" {
		return s.Operand
	}
	return s.Operand + "/" + s.As
}

// data is the leaf as the modules read it.
func (l *Leaf) data() map[string]any {
	v := map[string]any{"slot": l.Key, "type": l.Kind, "operator": l.Operator}
	switch {
	case l.Window:
		v["from"], v["to"] = model.Integer(l.From), model.Integer(l.To)
	case l.usage:
		v["usage"] = true
	case l.Value != nil:
		v["value"] = l.Value
	}
	return v
}

// A kindRow is how constraints on one kind of left operand become leaves.
type kindRow struct {
	enforced  []string // the operators permitted in an enforced policy; nil: compile checks itself
	operators []string // those permitted in any other policy; nil: compile checks itself
	// compile fills in the leaf. It returns false if the constraint cannot be decided, and has reported why.
	compile func(*compiler, *Leaf, *model.Constraint) bool
	refused [2]string // why a policy with it is not enforced: code and message
}

var (
	instants   = slices.Concat([]string{"eq", "neq"}, model.Orderings)
	texts      = []string{"eq", "neq", "isAnyOf", "isNoneOf", "isAllOf", "isPartOf", "hasPart"}
	quantities = slices.Concat(texts[:5], model.Orderings)
	versions   = slices.Concat(texts[:4], model.Orderings)
)

// kindRows are the rows of all kinds.
var kindRows = map[model.Kind]kindRow{
	model.Other:    {refused: [2]string{"no-facts", "nothing is known of the left operand %s, so it cannot be enforced"}},
	model.Text:     {enforced: texts, operators: texts, compile: (*compiler).textLeaf},
	model.Code:     {enforced: texts, operators: texts, compile: (*compiler).textLeaf},
	model.Number:   {enforced: quantities, operators: quantities, compile: (*compiler).numberLeaf},
	model.Duration: {enforced: quantities, operators: quantities, compile: (*compiler).durationLeaf},
	model.Version:  {enforced: versions, operators: quantities, compile: (*compiler).versionLeaf},
	model.Money:    {enforced: instants, operators: quantities, compile: (*compiler).moneyLeaf},
	model.Event:    {operators: instants, compile: (*compiler).eventLeaf},
	model.Instant:  {compile: (*compiler).instantLeaf},
	model.Window:   {compile: (*compiler).windowLeaf},
	model.Key: {
		operators: append([]string{"use"}, quantities...), compile: (*compiler).keyLeaf,
		refused: [2]string{"public-key", "%s narrows signPayload alone"},
	},
	model.Count: {refused: [2]string{"limit", "%s limits a permission or a prohibition of execute, outside or, xone and andSequence"}},
}

// kindOf returns the kind of the values that a policy which is not enforced compares. For an operand that no vocabulary describes, the
// data type or the form of its value decides.
func kindOf(c *model.Constraint) model.Kind {
	switch left := c.Left(); {
	case left.Kind == model.Count: // where a count is needed, it is given with the question
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

// forms are the forms of values other than texts; the first that fits counts.
var forms = []struct {
	kind  model.Kind
	reads func(string) bool
}{
	{model.Number, func(s string) bool { _, ok := model.ParseDecimal(s); return ok }},
	{model.Duration, func(s string) bool { _, ok := model.ParseDuration(s); return ok }},
	{model.Instant, func(s string) bool { _, ok := model.ParseInstant(s); return ok }},
}

// compileLeaf converts a constraint to normal form. In an enforced policy, one that cannot be decided is reported and nil; in any other
// it is a leaf that no fact makes true or false.
func (k *compiler) compileLeaf(c *model.Constraint) *Leaf {
	l := &Leaf{Source: c, Operator: c.Operator, Slot: Slot{Operand: c.Operand}}
	if c.Operator == "isA" {
		l.Operator = "isPartOf"
	}
	if k.mode == enforcing {
		if !k.decidable(l, c) {
			return nil
		}
		l.Key = l.Slot.Key()
		return l
	}
	row := kindRows[kindOf(c)]
	single := len(c.Right) == 1 || len(c.Right) > 1 && slices.Contains(model.SetOperators, l.Operator)
	if !single || !k.readable(c) || row.operators != nil && !slices.Contains(row.operators, l.Operator) || !row.compile(k, l, c) {
		l.Kind, l.Operator, l.Value, l.Window = "none", "none", nil, false
		l.read = func(any) (any, bool) { return nil, false }
	}
	l.Key = l.Slot.Key() + "|" + l.Kind
	if c.Status != "" {
		l.Key += "#" + c.Status
	}
	return l
}

// readable reports whether a constraint on a count has the number to compare with, and the period. Any other constraint is readable.
func (k *compiler) readable(c *model.Constraint) bool {
	if c.Left().Kind != model.Count {
		return true
	}
	for i := range c.Right {
		one := *c
		one.Right = c.Right[i : i+1]
		if _, _, ok := k.bound(&one); !ok {
			return false
		}
	}
	return true
}

// decidable compiles a constraint that must be decided for each call, and reports one that cannot.
func (k *compiler) decidable(l *Leaf, c *model.Constraint) bool {
	kind := c.Left().Kind
	row := kindRows[kind]
	switch {
	case c.Status != "":
		k.Problems.Errorf("status", c.Pointer, "only a count has a status")
		return false
	case len(c.Right) > 1 && !slices.Contains(model.SetOperators, l.Operator):
		k.Problems.Errorf("cardinality", c.Pointer, "%s compares with one value, not %d: use isAnyOf, isNoneOf or isAllOf", c.Operator,
			len(c.Right))
		return false
	case row.refused[0] != "":
		k.Problems.Errorf(row.refused[0], c.Pointer, row.refused[1], c.Operand)
		return false
	case row.enforced != nil && !k.allow(l, row.enforced...) || !row.compile(k, l, c):
		return false
	case c.Unit.IRI != "" && !slices.Contains(measurable, kind):
		k.Problems.Errorf("unit", c.Unit.Pointer, "%s has no unit", c.Operand)
		return false
	}
	return true
}

// measurable are the kinds of operands whose values may have a unit.
var measurable = []model.Kind{model.Money, model.Number, model.Duration}

// allow reports an operator that makes no sense for the operand.
func (k *compiler) allow(l *Leaf, allowed ...string) bool {
	if slices.Contains(allowed, l.Operator) {
		return true
	}
	k.Problems.Errorf("operator", l.Source.Pointer, "%s cannot be compared by %s: use %s", l.Source.Operand, l.Source.Operator,
		strings.Join(allowed, ", "))
	return false
}

// FactOf converts the values of one operand for a leaf; nil if any of them is not of its kind.
func (l *Leaf) FactOf(v any) []any {
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
		case l.Source.Left().Kind == model.Event: // the course of other events leaves this one open
		default:
			return nil
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// FactList returns the values of one fact; false if there are none, or too many.
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

// MaxFacts bounds the values of one operand. An operand with more has no facts.
const MaxFacts = 64
