package words

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A speech defines how conditions are phrased: for the calls that a gateway admits, or for any action.
type speech struct {
	done string         // the words before "before 1 January 2030"
	open string         // the start of a sentence about facts that may be unknown
	sure []model.Kind   // kinds of left operands whose facts are always known
	also []model.Source // sources that always have a value
	most int            // maximum number of names or values in one list; the others are only counted
}

var (
	ofCalls = speech{
		done: "the call is made", open: "If a call leaves that open, ",
		sure: []model.Kind{model.Instant, model.Window, model.Version}, also: []model.Source{model.FromAgent}, most: 10,
	}
	ofActs = speech{
		done: "the action takes place", open: "If that is unknown, ", sure: []model.Kind{model.Instant, model.Window, model.Count},
		most: math.MaxInt,
	}
)

// doubt describes the consequence if it is unknown whether a condition is true.
func (s speech) doubt(conditions []*model.Constraint, then string) []string {
	if !slices.ContainsFunc(conditions, s.uncertain) {
		return nil
	}
	return []string{s.open + then + "."}
}

// binding is like doubt, for rules that bind. If the conditions name whole places or languages, it adds that their parts are also in doubt.
func (s speech) binding(conditions []*model.Constraint, then string) []string {
	list := s.doubt(conditions, then)
	if slices.ContainsFunc(conditions, namesWhole) {
		list = append(list, "The same applies to a part of a place or language that is named there.")
	}
	return list
}

// namesWhole reports whether a condition names a whole place or language, and is unknown for its parts.
func namesWhole(c *model.Constraint) bool {
	if c.Logic != "" {
		return slices.ContainsFunc(c.Operands, namesWhole)
	}
	return contains(c) && slices.Contains([]string{"eq", "isAnyOf", "isAllOf"}, c.Operator)
}

// contains reports whether the named places or languages may have known parts.
func contains(c *model.Constraint) bool {
	left := c.Left()
	return slices.ContainsFunc(c.Right, func(r model.Literal) bool { return left.IsCode(r.Text) && !left.IsRange(r.Text) })
}

func (s speech) uncertain(c *model.Constraint) bool {
	if c.Logic != "" {
		return slices.ContainsFunc(c.Operands, s.uncertain)
	}
	return !slices.Contains(s.sure, c.Left().Kind) && !slices.Contains(s.also, c.Left().Source)
}

// ifAll describes conditions that must all be true, as the end of a sentence.
func (s speech) ifAll(conditions []*model.Constraint) string {
	if len(conditions) == 0 {
		return ""
	}
	list := make([]string, 0, len(conditions))
	for _, c := range conditions {
		list = append(list, "if "+s.clause(c))
	}
	return " " + strings.Join(list, ", and ")
}

// clause describes a constraint in words that can follow "if".
func (s speech) clause(c *model.Constraint) string { return s.part(c, "") }

// part is like clause, for a constraint that may be an item of a list. at is the prefix for the numbers of its own items, such as "2.".
func (s speech) part(c *model.Constraint, at string) string {
	if c.Logic != "" {
		return s.logic(c, at)
	}
	if words, ok := s.time(c); ok {
		return s.done + " " + words
	}
	switch {
	case c.Left().Kind == model.Count:
		return s.done + " " + s.times(c)
	case c.Left().Kind == model.Event:
		return s.done + " " + s.event(c)
	case c.Operand == "timeInterval":
		return "the time between one use and the next " + s.comparison(c.Operator, values(c))
	}
	words := s.comparison(c.Operator, values(c))
	if contains(c) {
		switch c.Operator {
		case "neq":
			words = "is neither " + s.listing(values(c), "or") + " nor part of it"
		case "isNoneOf":
			words += ", nor part of one of them"
		}
	}
	return "the " + subject(c) + " " + words
}

// logic describes a logical constraint: as one sentence if each part is short, otherwise as a list whose numbers show the nesting.
func (s speech) logic(c *model.Constraint, at string) string {
	const short = 3
	inline := len(c.Operands) <= short && !slices.ContainsFunc(c.Operands, func(o *model.Constraint) bool {
		return o.Logic != "" || len(o.Right)+len(o.RightRef) > 1
	})
	joint := map[string]string{"and": ", and ", "or": ", or "}[c.Logic]
	parts := make([]string, 0, len(c.Operands))
	for i, o := range c.Operands {
		number := fmt.Sprintf("%s%d", at, i+1)
		words := s.part(o, number+".")
		if !inline || joint == "" {
			words = "(" + number + ") " + words
		}
		parts = append(parts, words)
	}
	if inline && joint != "" {
		return strings.Join(parts, joint)
	}
	return map[string]string{
		"and": "all of these are true: ", "or": "at least one of these is true: ", "xone": "exactly one of these is true: ",
		"andSequence": "all of these are true, one after the other: ",
	}[c.Logic] + strings.Join(parts, "; ")
}

// comparison describes an operator and its values.
func (s speech) comparison(operator string, values []string) string {
	switch operator {
	case "eq":
		return "is " + s.listing(values, "and")
	case "neq":
		return "is not " + s.listing(values, "and")
	case "lt":
		return "is below " + s.listing(values, "and")
	case "lteq":
		return "is at most " + s.listing(values, "and")
	case "gt":
		return "is above " + s.listing(values, "and")
	case "gteq":
		return "is at least " + s.listing(values, "and")
	case "isAnyOf":
		return "is " + s.listing(values, "or")
	case "isNoneOf":
		return "is not " + s.listing(values, "or")
	case "isAllOf":
		return "is all of " + s.listing(values, "and")
	case "isPartOf", "within":
		return "is " + s.listing(values, "or") + " or part of it"
	case "outside":
		return "is not within " + s.listing(values, "or")
	case "isA":
		return "is " + s.listing(values, "or") + " or a kind of it"
	case "hasPart":
		return "contains " + s.listing(values, "and")
	default:
		return "is in the relation " + model.Quote(operator) + " to " + s.listing(values, "and")
	}
}

// times describes a count: at most 5 times, per hour.
func (s speech) times(c *model.Constraint) string {
	list := values(c)
	n := s.listing(list, "or")
	switch c.Operator {
	case "lteq":
		n = "at most " + n
	case "lt":
		n = "fewer than " + n
	case "gteq":
		n = "at least " + n
	case "gt":
		n = "more than " + n
	case "eq":
		n = "exactly " + n
	case "neq":
		n = "not exactly " + n
	default:
		return "a number of times that " + s.comparison(c.Operator, list) + perPeriod(c) + used(c)
	}
	if len(list) == 1 && list[0] == "1" {
		n += " time"
	} else {
		n += " times"
	}
	return n + perPeriod(c) + used(c)
}

// perPeriod describes the period of a count. A count without a unit has no period and counts all uses. A rateLimit without a unit cannot be
// counted.
func perPeriod(c *model.Constraint) string {
	if c.Unit.IRI == "" {
		if c.Operand == "count" {
			return " in all"
		}
		return ""
	}
	name := model.LastName(c.Unit.IRI)
	if known, ok := model.PeriodNames[name]; ok {
		name = known
	}
	if slices.Contains([]string{"second", "minute", "hour", "day", "week", "month", "year"}, name) {
		return " per " + name
	}
	if period, ok := spellDuration(name); ok {
		return " in any " + period
	}
	return " per " + model.Quote(c.Unit.IRI)
}

// used describes how much of a count has already been used.
func used(c *model.Constraint) string {
	if c.Status == "" {
		return ""
	}
	n := c.Status
	if !model.DecimalForm().MatchString(n) {
		n = model.Quote(n)
	}
	return ", " + n + " of them already used"
}

// event describes when something is done relative to an event.
func (s speech) event(c *model.Constraint) string {
	events := make([]string, 0, len(c.Right))
	for _, e := range c.Texts() {
		if isPolicyUsage(e) {
			events = append(events, "the policy is used")
			continue
		}
		events = append(events, "the event "+model.Quote(e))
	}
	switch list := s.listing(events, "or"); c.Operator {
	case "lt":
		return "before " + list
	case "lteq":
		return "before or during " + list
	case "gt":
		return "after " + list
	case "gteq":
		return "during or after " + list
	case "neq":
		return "at any time except during " + list
	default:
		return "during " + list
	}
}

// isPolicyUsage reports whether a right operand is policyUsage, the time at which the rule is exercised.
func isPolicyUsage(s string) bool {
	rest, _ := model.Bare(s)
	return s == "policyUsage" || s == "odrl:policyUsage" || rest == model.OdrlNS+"policyUsage"
}
