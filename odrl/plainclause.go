package odrl

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// only words the conditions of a permission.
func (g *group) only() []string {
	list := make([]string, 0, len(g.conditions)+1)
	for _, c := range g.conditions {
		list = append(list, "Only if "+clause(c)+".")
	}
	return append(list, doubt(g.conditions, "the permission does not apply")...)
}

// ifAll words conditions that must all be true, as the end of a sentence.
func ifAll(conditions []*constraintNode) string {
	if len(conditions) == 0 {
		return ""
	}
	list := make([]string, 0, len(conditions))
	for _, c := range conditions {
		list = append(list, "if "+clause(c))
	}
	return " " + strings.Join(list, ", and ")
}

// doubt says what follows where the facts of a condition are not known. The time, the version and the
// agent always are.
func doubt(conditions []*constraintNode, then string) []string {
	if !slices.ContainsFunc(conditions, uncertain) {
		return nil
	}
	return []string{"Where a call leaves that open, " + then + "."}
}

func uncertain(c *constraintNode) bool {
	if c.logic != "" {
		return slices.ContainsFunc(c.operands, uncertain)
	}
	switch operands[c.operand] {
	case instant, window, version:
		return false
	default:
		return c.operand != "recipient"
	}
}

// clause words a constraint, to stand after "if".
func clause(c *constraintNode) string {
	if c.logic != "" {
		return logicClause(c)
	}
	switch operands[c.operand] {
	case instant, window:
		return "the call is made " + timeClause(c)
	case version:
		return "the version of the intent " + comparison(c.operator, versions(c))
	case paying:
		return "the price " + comparison(c.operator, []string{c.texts()[0] + " " + lastName(c.unit.iri)})
	default:
		return "the " + subject(c.operand) + " " + comparison(c.operator, quotes(c))
	}
}

func logicClause(c *constraintNode) string {
	parts := make([]string, 0, len(c.operands))
	for _, o := range c.operands {
		s := clause(o)
		if o.logic != "" {
			s = "(" + s + ")"
		}
		parts = append(parts, s)
	}
	switch c.logic {
	case "or":
		return strings.Join(parts, " or ")
	case "xone":
		return "exactly one of these is true: " + strings.Join(parts, "; ")
	default: // and, andSequence
		return strings.Join(parts, " and ")
	}
}

// subjects are the left operands whose names are no words.
var subjects = map[string]string{
	"spatial": "region", "deliveryChannel": "delivery channel", "media": "medium", "fileFormat": "file format", "systemDevice": "device", "payAmount": "price",
}

func subject(operand string) string {
	if s, ok := subjects[operand]; ok {
		return s
	}
	return operand
}

// comparison words an operator and its values.
func comparison(operator string, values []string) string {
	switch operator {
	case "eq":
		return "is " + values[0]
	case "neq":
		return "is not " + values[0]
	case "lt":
		return "is below " + values[0]
	case "lteq":
		return "is at most " + values[0]
	case "gt":
		return "is above " + values[0]
	case "gteq":
		return "is at least " + values[0]
	case "isAnyOf":
		return "is " + listing(values, "or")
	case "isNoneOf":
		return "is none of " + listing(values, "and")
	case "isAllOf":
		return "is all of " + listing(values, "and")
	case "isPartOf", "isA":
		return "is " + values[0] + " or part of it"
	case "hasPart":
		return "contains " + listing(values, "and")
	default:
		return operator + " " + listing(values, "and")
	}
}

func quotes(c *constraintNode) []string {
	var list []string
	for _, s := range c.texts() {
		if isCode(c.operand, s) {
			list = append(list, strings.ToUpper(s))
			continue
		}
		list = append(list, quote(s))
	}
	return list
}

func versions(c *constraintNode) []string {
	var list []string
	for _, s := range c.texts() {
		if v, ok := parseVersion(s); ok {
			s = fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
		}
		list = append(list, s)
	}
	return list
}

// timeClause words when a call is made, as the normal form has it: a date is its whole day, a window
// holds its start and not its end.
func timeClause(c *constraintNode) string {
	var quiet findings
	n := &normalizer{names: &names{problems: &quiet}}
	l, ok := n.newLeaf(c)
	switch {
	case !ok: // Publish read it before
		return c.String()
	case l.slot.as == "clock":
		return clockClause(l)
	case l.window:
		return windowClause(l)
	}
	number, ok := l.value.(json.Number)
	nano, err := number.Int64()
	if !ok || err != nil {
		return c.String()
	}
	switch l.operator {
	case "lt":
		return "before " + edge(nano)
	case "lteq":
		return "no later than " + moment(nano)
	case "gt":
		return "after " + moment(nano)
	case "gteq":
		return "no earlier than " + edge(nano)
	case "neq":
		return "at any time but " + moment(nano)
	default:
		return "at " + moment(nano)
	}
}

// clockClause words a window of the day; being outside of one is being within the rest of the day.
func clockClause(l *leaf) string {
	from, to := l.from, l.to
	if l.operator == "outside" {
		from, to = to%int64(day), from
	}
	if to == 0 {
		to = int64(day)
	}
	s := "from " + clockTime(from) + " until just before " + clockTime(to)
	if from > to {
		s += " on the next day"
	}
	return s + " (UTC)"
}

func windowClause(l *leaf) string {
	if whole(l.from) && l.to == l.from+int64(day) {
		return map[string]string{"within": "on ", "outside": "on any day but "}[l.operator] + edge(l.from)
	}
	if l.operator == "outside" {
		return "before " + edge(l.from) + ", or no earlier than " + edge(l.to)
	}
	return "no earlier than " + edge(l.from) + " and before " + edge(l.to)
}

func whole(nano int64) bool { return nano%int64(day) == 0 }

// moment is an instant.
func moment(nano int64) string {
	return time.Unix(0, nano).UTC().Format("2 January 2006, 15:04:05.999999999 UTC")
}

// edge is an instant at which something begins or ends; midnight is the day that begins with it.
func edge(nano int64) string {
	if whole(nano) {
		return time.Unix(0, nano).UTC().Format("2 January 2006 (UTC)")
	}
	return moment(nano)
}

// clockTime is a time of day: 09:00, 09:00:30.
func clockTime(nano int64) string {
	if nano == int64(day) {
		return "24:00"
	}
	t := time.Unix(0, nano).UTC()
	if nano%int64(time.Minute) == 0 {
		return t.Format("15:04")
	}
	return t.Format("15:04:05.999999999")
}
