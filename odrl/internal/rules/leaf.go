package rules

import (
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A Leaf is a constraint in normal form, as in data.policy.leaves.
type Leaf struct {
	ID       string
	Source   *model.Constraint
	Slot     Slot
	Key      string // the key of its slot in input.facts
	Kind     string // the type of facts that constraints.rego accepts; "none" means that no fact makes the leaf true or false
	Operator string
	Value    any // a JSON value
	Window   bool
	From, To int64
	usage    bool                  // the right operand is the time of use
	read     func(any) (any, bool) // converts a fact for comparison; nil for texts, versions and money, which the plan parses
}

// A Slot is an entry in input.facts: a left operand, with the form of its values.
type Slot struct {
	Operand string // local name, which is also the key of Request.Facts
	As      string // form of text, currency, unit, name of the event, "clock" for the time of day, "day" for whole days
}

// Key returns the key of the slot in input.facts.
func (s Slot) Key() string {
	if s.As == "" {
		return s.Operand
	}
	return s.Operand + "/" + s.As
}

// data returns the leaf in the form that the modules read.
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

// A kindRow determines how constraints on one kind of left operand become leaves.
type kindRow struct {
	enforced  []string // the operators permitted in an enforced policy; nil means that compile checks them
	operators []string // the operators permitted in any other policy; nil means that compile checks them
	// compile fills in the leaf. If the constraint cannot be decided, it reports why and returns false.
	compile func(*compiler, *Leaf, *model.Constraint) bool
	refused [2]string // why a policy with such a constraint cannot be enforced: code and message
}

var (
	instants   = slices.Concat([]string{"eq", "neq"}, model.Orderings)
	texts      = []string{"eq", "neq", "isAnyOf", "isNoneOf", "isAllOf", "isPartOf", "hasPart"}
	quantities = slices.Concat(texts[:5], model.Orderings)
	versions   = slices.Concat(texts[:4], model.Orderings)
)

// kindRows are the rows of all kinds.
var kindRows = map[model.Kind]kindRow{
	model.Other:    {refused: [2]string{"no-facts", "the left operand %s is unknown, so the constraint cannot be enforced"}},
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
		refused: [2]string{"public-key", "%s is valid only in a duty to signPayload"},
	},
	model.Count: {refused: [2]string{
		"limit",
		"%s can only limit a permission or a prohibition of execute, and not inside or, xone and andSequence",
	}},
}

// kindOf returns the kind of the values that a constraint compares in a policy that is not enforced. If no vocabulary describes the left
// operand, the datatype or the form of its value determines the kind.
func kindOf(c *model.Constraint) model.Kind {
	switch left := c.Left(); {
	case left.Kind == model.Count: // if a count is needed, the question gives it
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

// forms are the forms of values other than texts, in the order in which they are tried.
var forms = []struct {
	kind  model.Kind
	reads func(string) bool
}{
	{model.Number, func(s string) bool { _, ok := model.ParseDecimal(s); return ok }},
	{model.Duration, func(s string) bool { _, ok := model.ParseDuration(s); return ok }},
	{model.Instant, func(s string) bool { _, ok := model.ParseInstant(s); return ok }},
}

// compileLeaf converts a constraint to normal form. If the constraint of an enforced policy cannot be decided, compileLeaf reports the
// constraint and returns nil. In any other policy, it then returns a leaf that no fact makes true or false.
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

// readable reports whether the number and the period of a constraint on a count can be read. It returns true for any other constraint.
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

// decidable compiles a constraint that must be decided for each call. If that is not possible, it reports why and returns false.
func (k *compiler) decidable(l *Leaf, c *model.Constraint) bool {
	kind := c.Left().Kind
	row := kindRows[kind]
	switch {
	case c.Status != "":
		k.Problems.Errorf("status", c.Pointer, "only a count can have a status")
		return false
	case len(c.Right) > 1 && !slices.Contains(model.SetOperators, l.Operator):
		k.Problems.Errorf("cardinality", c.Pointer, "%s takes one value, not %d: use isAnyOf, isNoneOf or isAllOf", c.Operator,
			len(c.Right))
		return false
	case row.refused[0] != "":
		k.Problems.Errorf(row.refused[0], c.Pointer, row.refused[1], c.Operand)
		return false
	case row.enforced != nil && !k.allow(l, row.enforced...) || !row.compile(k, l, c):
		return false
	case c.Unit.IRI != "" && !slices.Contains(measurable, kind):
		k.Problems.Errorf("unit", c.Unit.Pointer, "%s does not take a unit", c.Operand)
		return false
	}
	return true
}

// measurable are the kinds of operands whose values may have a unit.
var measurable = []model.Kind{model.Money, model.Number, model.Duration}

// allow reports whether the operator of a leaf is one of allowed. If not, it adds an error.
func (k *compiler) allow(l *Leaf, allowed ...string) bool {
	if slices.Contains(allowed, l.Operator) {
		return true
	}
	k.Problems.Errorf("operator", l.Source.Pointer, "%s cannot be compared with the operator %s: use %s", l.Source.Operand, l.Source.Operator,
		strings.Join(allowed, ", "))
	return false
}

// FactOf converts the values of one operand into facts for a leaf. It returns nil if there are none, or if one of them is not of the
// leaf's kind.
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
		case l.Source.Left().Kind == model.Event: // the state of another event does not affect this leaf
		default:
			return nil
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// FactList returns the values of one operand. It returns false if there are none, or more than MaxFacts.
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

// MaxFacts is the maximum number of values of one operand. An operand with more values counts as having none.
const MaxFacts = 64
