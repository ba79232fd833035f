package odrl

import (
	"math/big"
	"slices"
	"strings"
	"time"
)

// rule compares two rules that belong together.
func (c *comparer) rule(o, n *atom) {
	r := ruleComparer{c, func(e Effect, text string) {
		c.say(Change{Effect: e, Old: o.node.name(), New: n.node.name(), Text: text}, n)
	}}
	if o.identity() != n.identity() {
		r.say(Mixed, "Before it was: "+c.old.text(o.alone()))
	}
	narrow := Worse // what it is to agents that the rule holds in fewer cases
	if n.kind != permission {
		narrow = Better
	}
	r.conditions(slices.Concat(o.constraints, refinementsOf(o)), slices.Concat(n.constraints, refinementsOf(n)), narrow, n.kind == obligation)
	if n.kind == obligation {
		r.prices(o, n)
	}
	r.children(o, n)
	if !slices.Equal(c.old.roles(o.alone()), c.new.roles(n.alone())) {
		r.say(Same, "What is said beside it: "+strings.Join(c.new.roles(n.alone()), " ")+" Before: "+strings.Join(c.old.roles(o.alone()), " "))
	}
	if o.node.notice != n.node.notice {
		r.say(Same, "What is said with it is "+quote(n.node.notice)+", before "+quote(o.node.notice)+".")
	}
}

// children compares the duties of every role. Rules split from the same two share them, and are told of
// once for all.
func (r ruleComparer) children(o, n *atom) {
	r.duties(o.duties, n.duties, "duty")
	r.duties(o.remedies, n.remedies, "remedy")
	r.duties(o.consequence, n.consequence, "consequence")
}

func refinementsOf(a *atom) []*constraintNode {
	if a.action == nil {
		return nil
	}
	return a.action.refinements
}

// A ruleComparer says what is different between two rules.
type ruleComparer struct {
	*comparer
	say func(Effect, string)
}

// conditions compares constraints. narrow is what it is to agents that the rule holds in fewer cases; the
// times of a duty are its deadline, which is better later.
func (r ruleComparer) conditions(o, n []*constraintNode, narrow Effect, duty bool) {
	skip := func(c *constraintNode) bool { return duty && (isPrice(c) || isKey(c)) }
	o, n = slices.DeleteFunc(slices.Clone(o), skip), slices.DeleteFunc(slices.Clone(n), skip)
	o, n = without(o, n), without(n, o)
	for _, c := range n {
		i := slices.IndexFunc(o, func(before *constraintNode) bool { return takesPlace(before, c) })
		if i < 0 {
			r.say(fewer(c, narrow, duty), "There is a new condition: "+r.new.clause(c)+".")
			continue
		}
		before := o[i]
		o = slices.Delete(slices.Clone(o), i, i+1)
		r.say(widened(before, c, fewer(c, narrow, duty).reverse()), capital(condition(r.new.speech, c))+", instead of "+condition(r.old.speech, before)+".")
	}
	for _, c := range o {
		r.say(fewer(c, narrow, duty).reverse(), "This is no longer a condition: "+r.old.clause(c)+".")
	}
}

// fewer is what it is to agents that a rule holds only under this condition too. The time of a duty is its
// deadline.
func fewer(c *constraintNode, narrow Effect, duty bool) Effect {
	if duty && timely(c) {
		return Worse
	}
	return narrow
}

// condition words a constraint for a comparison.
func condition(s speech, c *constraintNode) string {
	if counts(c) && len(c.right) == 1 {
		return s.times(c)
	}
	return s.clause(c)
}

// without are the constraints whose meaning others do not have, each as often as it is said.
func without(list, others []*constraintNode) []*constraintNode {
	count := map[string]int{}
	for _, c := range others {
		count[c.meaning()]++
	}
	var out []*constraintNode
	for _, c := range list {
		if m := c.meaning(); count[m] > 0 {
			count[m]--
		} else {
			out = append(out, c)
		}
	}
	return out
}

// takesPlace reports whether one constraint took the place of another.
func takesPlace(o, n *constraintNode) bool {
	if o.logic != "" || n.logic != "" {
		return o.logic == n.logic
	}
	return o.operand == n.operand && perPeriod(o) == perPeriod(n) && direction(o) == direction(n)
}

// direction is 1 for constraints that hold up to their value, -1 for those that hold from it, else 0.
func direction(c *constraintNode) int {
	switch c.operator {
	case "lt", "lteq":
		return 1
	case "gt", "gteq":
		return -1
	case "eq":
		if c.operand == "count" || c.operand == "rateLimit" { // a limit all the same
			return 1
		}
	}
	return 0
}

// widened is the effect of a change of a constraint, where wide is that of holding in more cases.
func widened(o, n *constraintNode, wide Effect) Effect {
	if o.logic != "" || o.unit.iri != n.unit.iri && perPeriod(o) == "" || o.status != n.status {
		return Mixed
	}
	if o.operator == n.operator && len(o.rightRef)+len(n.rightRef) == 0 {
		before, after := o.valueSet(), n.valueSet()
		switch o.operator {
		case "isAnyOf":
			return grown(before, after, wide)
		case "isNoneOf", "isAllOf", "hasPart":
			return grown(before, after, wide.reverse())
		}
	}
	way := direction(n)
	cmp, ok := compareValues(o, n)
	if way == 0 || !ok {
		return Mixed
	}
	if cmp == 0 { // lt and lteq, or gt and gteq, of one value
		cmp = strictness(n.operator) - strictness(o.operator)
	} else {
		cmp *= way
	}
	switch {
	case cmp > 0:
		return wide
	case cmp < 0:
		return wide.reverse()
	default:
		return Same
	}
}

func strictness(operator string) int {
	if strings.HasSuffix(operator, "eq") {
		return 1
	}
	return 0
}

func (c *constraintNode) valueSet() map[string]bool {
	set := map[string]bool{}
	for i := range c.right {
		set[c.valueMeaning(&c.right[i])] = true
	}
	return set
}

// grown is more where after holds all of before, and its opposite where before holds all of after.
func grown(before, after map[string]bool, more Effect) Effect {
	within := func(a, b map[string]bool) bool {
		for k := range a {
			if !b[k] {
				return false
			}
		}
		return true
	}
	switch {
	case within(before, after):
		return more
	case within(after, before):
		return more.reverse()
	default:
		return Mixed
	}
}

// compareValues compares the one value of each constraint: the new with the old.
func compareValues(o, n *constraintNode) (int, bool) {
	if len(o.right) != 1 || len(n.right) != 1 || o.right[0].window || n.right[0].window {
		return 0, false
	}
	a, b := o.right[0].text, n.right[0].text
	if x, ok := parseDecimal(a); ok {
		if y, ok := parseDecimal(b); ok {
			return y.Cmp(x), true
		}
	}
	if x, ok := parseSpan(a); ok {
		if y, ok := parseSpan(b); ok {
			return compareSpans(x, y, n.operator)
		}
	}
	if x, ok := parseDuration(a); ok {
		if y, ok := parseDuration(b); ok {
			return compareDurations(x, y)
		}
	}
	if x, ok := parseVersion(a); ok && operands[o.operand] == version {
		if y, ok := parseVersion(b); ok {
			return slices.Compare(y[:], x[:]), true
		}
	}
	return 0, false
}

// compareSpans compares where a condition by the operator begins or ends: lteq a day is until its end.
func compareSpans(x, y span, operator string) (int, bool) {
	edge := func(s span) time.Time {
		if operator == "lteq" || operator == "gt" {
			return s.to
		}
		return s.from
	}
	return edge(y).Compare(edge(x)), true
}

// compareDurations compares what durations last; false where that depends on the month.
func compareDurations(x, y []any) (int, bool) {
	all := 0
	for i := range x {
		a, ok := new(big.Int).SetString(scalarText(x[i]), 10)
		b, ok2 := new(big.Int).SetString(scalarText(y[i]), 10)
		if !ok || !ok2 {
			return 0, false
		}
		cmp := b.Cmp(a)
		if i > 0 && cmp != all {
			return 0, false
		}
		all = cmp
	}
	return all, true
}
