package odrl

import (
	"cmp"
	"slices"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

// maxWork bounds what publishing spends on comparing rules with one another, in steps of a few
// nanoseconds. Beyond it the remaining ones go unchecked, with a warning; the decision itself treats
// every conflict.
const maxWork = 20_000_000

// analyse reports what rules do to one another: conflicts (ODRL IM 2.10), limits that another
// permission makes meaningless, charges that do not add up.
func (n *normalizer) analyse() {
	var permissions, prohibitions []*rule
	for _, r := range n.rules {
		switch {
		case r.kind == permission:
			permissions = append(permissions, r)
		case r.kind == prohibition && !r.bounds() && !r.exceeding():
			prohibitions = append(prohibitions, r)
		}
	}
	n.charges(permissions)
	work := 0
	more := func(a, b *rule) bool {
		work += 1 + a.target.cost(b.target)
		return work <= maxWork && !n.problems.full()
	}
	for _, p := range permissions {
		for _, f := range prohibitions {
			if !more(p, f) {
				n.problems.Warnf("unchecked", "", "the policy has too many rules to compare each with each for conflicts")
				return
			}
			if meet(p, f) {
				n.conflict(p, f)
			}
		}
	}
	for _, p := range permissions {
		for _, o := range permissions {
			if !more(p, o) {
				n.problems.Warnf("unchecked", "", "the policy has too many rules to compare each with each for meaningless limits")
				return
			}
			if p.node != o.node && meet(p, o) {
				n.meaningless(p, o)
			}
		}
	}
}

// meet reports whether one request could match both rules.
func meet(a, b *rule) bool {
	if a.assignee != "" && b.assignee != "" && a.assignee != b.assignee {
		return false
	}
	return a.target.meets(b.target)
}

// cost is how many steps meets takes.
func (t *target) cost(o *target) int {
	if t.name == o.name || t.name == everyIntent || o.name == everyIntent {
		return 0
	}
	return len(t.members) + len(o.members)
}

func (t *target) meets(o *target) bool {
	if t.name == o.name || t.name == everyIntent || o.name == everyIntent {
		return true
	}
	for i, j := 0, 0; i < len(t.members) && j < len(o.members); {
		switch a, b := t.members[i], o.members[j]; {
		case a == b:
			return true
		case a < b:
			i++
		default:
			j++
		}
	}
	return false
}

func (n *normalizer) conflict(p, f *rule) {
	definite := subset(f.canonical, p.canonical) // whenever the permission applies, so does the prohibition
	example, possible := satisfiable(n.names, slices.Concat(conjunction("", p.conditions, false), conjunction("", f.conditions, true)))
	if !possible {
		return
	}
	clash{
		definite: definite, strategy: n.d.strategy(), permission: p.node, prohibition: f.node,
		party: cmp.Or(p.assignee, f.assignee), action: "execute", target: n.common(p.target, f.target), facts: example,
	}.tell(n.problems)
}

// common names an intent that both targets hold.
func (n *normalizer) common(a, b *target) string {
	for _, i := range a.members {
		if slices.Contains(b.members, i) {
			return n.w.Intents[i].UID
		}
	}
	return a.name
}

// subset reports whether every member of a is in b; both are sorted.
func subset(a, b []string) bool {
	for _, s := range a {
		if _, ok := slices.BinarySearch(b, s); !ok {
			return false
		}
	}
	return true
}

// meaningless warns where p limits what o permits as well under no such limit.
func (n *normalizer) meaningless(p, o *rule) {
	if len(p.limits) == 0 || !subset(o.canonical, p.canonical) || o.assignee != "" && p.assignee == "" {
		return
	}
	for _, l := range p.limits {
		held := slices.ContainsFunc(o.limits, func(x limit.Limit) bool { return x.ID == l.ID && x.Max <= l.Max })
		if !held {
			n.problems.Warnf("meaningless", p.node.pointer, "the limit %s does not hold where %s permits the same beside it", l.Rate, o.node.name())
			return
		}
	}
}

// charges checks that what one call can owe is of one currency and within bounds.
func (n *normalizer) charges(permissions []*rule) {
	var shared money.Amount // the obligations' sum
	for _, r := range n.rules {
		if r.kind == obligation && !n.addCharge(&shared, r.duties[0]) {
			return
		}
	}
	for _, p := range permissions {
		sum := shared
		for _, d := range p.duties {
			if !n.addCharge(&sum, d) {
				return
			}
		}
	}
}

func (n *normalizer) addCharge(sum *money.Amount, d *duty) bool {
	if d.charge.IsZero() {
		return true
	}
	total, ok := plus(*sum, d.charge)
	if !ok {
		n.problems.Errorf("amount", d.node.pointer, "one call could owe amounts of several currencies, or more than %d in all", money.MaxUnits)
		return false
	}
	*sum = total
	return true
}

// plus adds amounts of one currency; false where they are not, or the sum passes the bound.
func plus(a, b money.Amount) (money.Amount, bool) {
	switch {
	case b.IsZero():
		return a, true
	case a.IsZero():
		return b, true
	case a.Currency != b.Currency || a.Nano+b.Nano > money.MaxUnits*money.Unit:
		return money.Amount{}, false
	}
	return money.Amount{Nano: a.Nano + b.Nano, Currency: a.Currency}, true
}
