package odrl

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A speech is how conditions are worded: of the calls that a gateway lets through, or of any act.
type speech struct {
	done string // what stands before "before 1 January 2030"
	open string // what is said of facts that may be missing
	sure []kind // of left operands whose facts never are
	also []string
	most int // names and values that one sentence holds; of more it says how many there are
}

var (
	ofCalls = speech{done: "the call is made", open: "Where a call leaves that open, ", sure: []kind{instant, window, version}, also: []string{"recipient"}, most: 10}
	ofActs  = speech{done: "it is done", open: "Where that is not known, ", sure: []kind{instant, window, limiting}, most: math.MaxInt}
)

// doubt says what follows where it is not known whether a condition is true.
func (s speech) doubt(conditions []*constraintNode, then string) []string {
	if !slices.ContainsFunc(conditions, s.uncertain) {
		return nil
	}
	return []string{s.open + then + "."}
}

func (s speech) uncertain(c *constraintNode) bool {
	if c.logic != "" {
		return slices.ContainsFunc(c.operands, s.uncertain)
	}
	return !slices.Contains(s.sure, operands[c.operand]) && !slices.Contains(s.also, c.operand)
}

// ifAll words conditions that must all be true, as the end of a sentence.
func (s speech) ifAll(conditions []*constraintNode) string {
	if len(conditions) == 0 {
		return ""
	}
	list := make([]string, 0, len(conditions))
	for _, c := range conditions {
		list = append(list, "if "+s.clause(c))
	}
	return " " + strings.Join(list, ", and ")
}

// clause words a constraint, to stand after "if".
func (s speech) clause(c *constraintNode) string { return s.part(c, "") }

// part is clause for a constraint that may stand in a list, of which at is the place: 1, or 2.1.
func (s speech) part(c *constraintNode, at string) string {
	if c.logic != "" {
		return s.logic(c, at)
	}
	if words, ok := s.time(c); ok {
		return s.done + " " + words
	}
	switch c.operand {
	case "count", "rateLimit":
		return s.done + " " + s.times(c)
	case "event":
		return s.done + " " + s.event(c)
	case "timeInterval":
		return "the time between one use and the next " + s.comparison(c.operator, values(c))
	}
	return "the " + subject(c.operand) + " " + s.comparison(c.operator, values(c))
}

// logic words a logical constraint. Where each part is short they stand in one sentence, else as a list
// whose numbers say what belongs to what.
func (s speech) logic(c *constraintNode, at string) string {
	const short = 3
	inline := len(c.operands) <= short && !slices.ContainsFunc(c.operands, func(o *constraintNode) bool {
		return o.logic != "" || len(o.right)+len(o.rightRef) > 1
	})
	joint := map[string]string{"and": ", and ", "or": ", or "}[c.logic]
	parts := make([]string, 0, len(c.operands))
	for i, o := range c.operands {
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
	}[c.logic] + strings.Join(parts, "; ")
}

// comparison words an operator and its values.
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
		return "is none of " + s.listing(values, "and")
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
		return "is in the relation " + quote(operator) + " to " + s.listing(values, "and")
	}
}

// times words a count: at most 5 times, per hour.
func (s speech) times(c *constraintNode) string {
	list := values(c)
	n := s.listing(list, "or")
	switch c.operator {
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
		return "a number of times that " + s.comparison(c.operator, list) + perPeriod(c) + used(c)
	}
	if len(list) == 1 && list[0] == "1" {
		n += " time"
	} else {
		n += " times"
	}
	return n + perPeriod(c) + used(c)
}

// perPeriod words the unit of a count.
func perPeriod(c *constraintNode) string {
	if c.unit.iri == "" {
		return ""
	}
	name := lastName(c.unit.iri)
	if known, ok := periodNames[name]; ok {
		name = known
	}
	if slices.Contains([]string{"second", "minute", "hour", "day", "week", "month", "year"}, name) {
		return " per " + name
	}
	if period, ok := spellDuration(name); ok {
		return " in any " + period
	}
	return " per " + quote(c.unit.iri)
}

// used words the start value of a count.
func used(c *constraintNode) string {
	if c.status == "" {
		return ""
	}
	n := c.status
	if !decimalForm.MatchString(n) {
		n = quote(n)
	}
	return ", of which " + n + " are used already"
}

// event words when something is done by an event.
func (s speech) event(c *constraintNode) string {
	events := make([]string, 0, len(c.right))
	for _, e := range c.texts() {
		if isPolicyUsage(e) {
			events = append(events, "the policy is used")
			continue
		}
		events = append(events, "the event "+quote(e))
	}
	switch list := s.listing(events, "or"); c.operator {
	case "lt":
		return "before " + list
	case "lteq":
		return "before or during " + list
	case "gt":
		return "after " + list
	case "gteq":
		return "during or after " + list
	case "neq":
		return "at any time but during " + list
	default:
		return "during " + list
	}
}

// isPolicyUsage recognises the right operand that stands for the time at which the rule is exercised.
func isPolicyUsage(s string) bool {
	rest, _ := bare(s)
	return s == "policyUsage" || s == "odrl:policyUsage" || rest == odrlNS+"policyUsage"
}
