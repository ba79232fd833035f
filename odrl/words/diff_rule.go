package words

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// rule compares two matched rules.
func (c *comparer) rule(o, n *model.Atom) {
	r := ruleComparer{c, func(e Effect, text string) {
		c.add(Change{Effect: e, Old: o.Node.Name(), New: n.Node.Name(), Text: text}, n)
	}}
	if identity(o) != identity(n) {
		r.note(Mixed, "Before, it was: "+c.old.text(aloneOf(o)))
	}
	narrow := Worse // the effect on agents if the rule applies in fewer cases
	if n.Kind != model.Permission {
		narrow = Better
	}
	r.conditions(slices.Concat(o.Constraints, refinementsOf(o)), slices.Concat(n.Constraints, refinementsOf(n)), narrow,
		n.Kind == model.Obligation)
	if n.Kind == model.Obligation {
		r.prices(o, n)
	}
	r.children(o, n)
	if before, now := c.old.roles(aloneOf(o)), c.new.roles(aloneOf(n)); !slices.Equal(before, now) {
		r.note(Same, "Its other roles: "+cmp.Or(strings.Join(now, " "), "none.")+" Before: "+cmp.Or(strings.Join(before, " "), "none."))
	}
	if o.Node.Notice != n.Node.Notice {
		r.note(Same, "Its notice is "+model.Quote(n.Node.Notice)+"; before, it was "+model.Quote(o.Node.Notice)+".")
	}
}

// children compares the duties in every role. A rule is split into atoms, which share its duties: each pair of atoms finds the same
// changes, and add reports each of them once.
func (r ruleComparer) children(o, n *model.Atom) {
	r.duties(o.Duties, n.Duties, "duty")
	r.duties(o.Remedies, n.Remedies, "remedy")
	r.duties(o.Consequence, n.Consequence, "consequence")
}

func refinementsOf(a *model.Atom) []*model.Constraint {
	if a.Action == nil {
		return nil
	}
	return a.Action.Refinements
}

// A ruleComparer describes the differences between two rules.
type ruleComparer struct {
	*comparer
	note func(Effect, string)
}

// conditions compares constraints. narrow is the effect on agents if the rule applies in fewer cases. The times of a duty are its deadline,
// for which later is better.
func (r ruleComparer) conditions(o, n []*model.Constraint, narrow Effect, duty bool) {
	skip := func(c *model.Constraint) bool { return duty && (isPrice(c) || isKey(c)) }
	o, n = slices.DeleteFunc(slices.Clone(o), skip), slices.DeleteFunc(slices.Clone(n), skip)
	o, n = without(o, n), without(n, o)
	for _, c := range n {
		i := slices.IndexFunc(o, func(before *model.Constraint) bool { return takesPlace(before, c) })
		if i < 0 {
			r.note(fewer(c, narrow, duty), "New condition: "+r.new.clause(c)+".")
			continue
		}
		before := o[i]
		o = slices.Delete(slices.Clone(o), i, i+1)
		r.note(widened(before, c, fewer(c, narrow, duty).reverse()),
			capital(condition(r.new.speech, c))+". Before: "+condition(r.old.speech, before)+".")
	}
	for _, c := range o {
		r.note(fewer(c, narrow, duty).reverse(), "This is no longer a condition: "+r.old.clause(c)+".")
	}
}

// fewer returns the effect on agents of adding a condition to a rule. The time of a duty is its deadline, and a deadline is worse than
// none.
func fewer(c *model.Constraint, narrow Effect, duty bool) Effect {
	if duty && timely(c) {
		return Worse
	}
	return narrow
}

// condition describes a constraint for a comparison.
func condition(s speech, c *model.Constraint) string {
	if counts(c) && len(c.Right) == 1 {
		return s.times(c)
	}
	return s.clause(c)
}

// without returns the constraints of list for which others has no constraint with the same meaning. Each constraint of others matches at
// most one.
func without(list, others []*model.Constraint) []*model.Constraint {
	count := map[string]int{}
	for _, c := range others {
		count[constraintMeaning(c)]++
	}
	var out []*model.Constraint
	for _, c := range list {
		if m := constraintMeaning(c); count[m] > 0 {
			count[m]--
		} else {
			out = append(out, c)
		}
	}
	return out
}

// takesPlace reports whether the constraint n replaces the constraint o.
func takesPlace(o, n *model.Constraint) bool {
	if o.Logic != "" || n.Logic != "" {
		return o.Logic == n.Logic
	}
	return o.Operand == n.Operand && perPeriod(o) == perPeriod(n) && direction(o) == direction(n)
}

// direction returns 1 for an upper bound, -1 for a lower bound, and 0 for any other constraint.
func direction(c *model.Constraint) int {
	switch c.Operator {
	case "lt", "lteq":
		return 1
	case "gt", "gteq":
		return -1
	case "eq":
		if c.Left().Kind == model.Count { // also a limit
			return 1
		}
	}
	return 0
}

// widened returns the effect of a change from o to n. wide is the effect if the constraint holds in more cases.
func widened(o, n *model.Constraint, wide Effect) Effect {
	if o.Logic != "" || o.Unit.IRI != n.Unit.IRI && perPeriod(o) == "" || o.Status != n.Status {
		return Mixed
	}
	if o.Operator == n.Operator && len(o.RightRef)+len(n.RightRef) == 0 {
		before, after := valueSet(o), valueSet(n)
		switch o.Operator {
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
	if cmp == 0 { // lt and lteq, or gt and gteq, with the same value
		cmp = strictness(n.Operator) - strictness(o.Operator)
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

func valueSet(c *model.Constraint) map[string]bool {
	set := map[string]bool{}
	for i := range c.Right {
		set[valueMeaning(c, &c.Right[i])] = true
	}
	return set
}

// grown returns more if after contains all of before, the reverse of more if before contains all of after, and otherwise Mixed.
func grown(before, after map[string]bool, more Effect) Effect {
	switch {
	case model.Within(before, after):
		return more
	case model.Within(after, before):
		return more.reverse()
	default:
		return Mixed
	}
}

// compareValues compares the new value with the old one. It returns false if a constraint does not have exactly one value, or if the values
// cannot be compared.
func compareValues(o, n *model.Constraint) (int, bool) {
	if len(o.Right) != 1 || len(n.Right) != 1 || o.Right[0].Window || n.Right[0].Window {
		return 0, false
	}
	a, b := o.Right[0].Text, n.Right[0].Text
	if x, ok := model.ParseDecimal(a); ok {
		if y, ok := model.ParseDecimal(b); ok {
			return y.Cmp(x), true
		}
	}
	if x, ok := parseSpan(a); ok {
		if y, ok := parseSpan(b); ok {
			return compareSpans(x, y, n.Operator)
		}
	}
	if x, ok := model.ParseDuration(a); ok {
		if y, ok := model.ParseDuration(b); ok {
			return compareDurations(x, y)
		}
	}
	if x, ok := model.ParseVersion(a); ok && o.Left().Kind == model.Version {
		if y, ok := model.ParseVersion(b); ok {
			return slices.Compare(y[:], x[:]), true
		}
	}
	return 0, false
}

// compareSpans compares the times at which conditions with the operator begin or end: lteq with a day extends to the end of that day.
func compareSpans(x, y span, operator string) (int, bool) {
	edge := func(s span) time.Time {
		if operator == "lteq" || operator == "gt" {
			return s.to
		}
		return s.from
	}
	return edge(y).Compare(edge(x)), true
}

// compareDurations compares the lengths of durations. It returns false if the result depends on the month.
func compareDurations(x, y []any) (int, bool) {
	all := 0
	for i := range x {
		a, ok := new(big.Int).SetString(model.ScalarText(x[i]), 10)
		b, ok2 := new(big.Int).SetString(model.ScalarText(y[i]), 10)
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
