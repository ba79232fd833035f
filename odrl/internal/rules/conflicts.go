package rules

import (
	"cmp"
	"slices"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// maxWork bounds the comparisons of rules when a policy is published, in steps of a few nanoseconds. Beyond it, the remaining rules are
// not compared, and a warning reports that. This is safe, because a decision handles every conflict.
const maxWork = 20_000_000

// analyse reports how the rules of a published policy affect each other: conflicts (ODRL IM 2.10), limits that another permission makes
// ineffective, and charges that cannot be added.
func (n *normalizer) analyse() {
	a := newAnalyst(n.compiler, n.form)
	var permissions, prohibitions []*Rule
	for _, r := range n.rules {
		switch {
		case r.Kind == model.Permission:
			permissions = append(permissions, r)
		case r.Kind == model.Prohibition && !r.Bounds() && !r.Exceeding():
			prohibitions = append(prohibitions, r)
		}
	}
	n.charges(permissions)
	work := 0
	more := func(a, b *Rule) bool {
		work += 1 + a.Target.cost(b.Target)
		return work <= maxWork && !n.Problems.Full()
	}
	forbidden := make([]claim, 0, len(prohibitions))
	for _, f := range prohibitions {
		forbidden = append(forbidden, a.claimOf(demandAll("", f.Conditions, true)))
	}
	for _, p := range permissions {
		permitted := a.claimOf(demandAll("", p.Conditions, false))
		for i, f := range prohibitions {
			at := func() ruleMatch {
				return ruleMatch{cmp.Or(p.Assignee, f.Assignee), "execute", n.common(p.Target, f.Target)}
			}
			if !more(p, f) || meet(p, f) && !a.conflict(p.Node, f.Node, permitted, forbidden[i], at) {
				n.Problems.Warnf("unchecked", "", "the policy has too many rules to check every pair for conflicts")
				return
			}
		}
	}
	for _, p := range permissions {
		for _, o := range permissions {
			if !more(p, o) {
				n.Problems.Warnf("unchecked", "", "the policy has too many rules to check every pair for limits without effect")
				return
			}
			if p.Node != o.Node && meet(p, o) {
				n.meaningless(p, o)
			}
		}
	}
}

// meet reports whether one request could match both rules.
func meet(a, b *Rule) bool {
	if a.Assignee != "" && b.Assignee != "" && a.Assignee != b.Assignee {
		return false
	}
	return a.Target.meets(b.Target)
}

// cost returns how many steps meets takes.
func (t *Target) cost(o *Target) int {
	if t.Name == o.Name || t.Name == EveryIntent || o.Name == EveryIntent {
		return 0
	}
	return len(t.members) + len(o.members)
}

func (t *Target) meets(o *Target) bool {
	if t.Name == o.Name || t.Name == EveryIntent || o.Name == EveryIntent {
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

// common returns the UID of an intent that both targets contain, or the name of a if there is none.
func (n *normalizer) common(a, b *Target) string {
	for _, i := range a.members {
		if slices.Contains(b.members, i) {
			return n.w.Intents[i].UID
		}
	}
	return a.Name
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

// meaningless warns if p limits requests that o also permits without such a limit.
func (n *normalizer) meaningless(p, o *Rule) {
	if len(p.Limits) == 0 || !subset(o.Canonical, p.Canonical) || o.Assignee != "" && p.Assignee == "" {
		return
	}
	for _, l := range p.Limits {
		held := slices.ContainsFunc(o.Limits, func(x limit.Limit) bool { return x.ID == l.ID && x.Max <= l.Max })
		if !held {
			n.Problems.Warnf("meaningless", p.Node.Pointer, "the limit %s has no effect, because %s permits the same without it", l.Rate, o.Node.Name())
			return
		}
	}
}

// charges checks that the charges of one call are in one currency and within bounds.
func (n *normalizer) charges(permissions []*Rule) {
	var shared money.Amount // the sum of the obligations
	for _, r := range n.rules {
		if r.Kind == model.Obligation && !n.addCharge(&shared, r.Duties[0]) {
			return
		}
	}
	for _, p := range permissions {
		sum := shared
		for _, d := range p.Duties {
			if !n.addCharge(&sum, d) {
				return
			}
		}
	}
}

func (n *normalizer) addCharge(sum *money.Amount, d *Duty) bool {
	if d.Charge.IsZero() {
		return true
	}
	total, ok := Sum(*sum, d.Charge)
	if !ok {
		n.Problems.Errorf("amount", d.Node.Pointer, "one call could cost amounts in several currencies, or more than %d in total", money.MaxUnits)
		return false
	}
	*sum = total
	return true
}

// Sum adds amounts in one currency. It returns false if the currencies differ or the sum exceeds money.MaxUnits.
func Sum(a, b money.Amount) (money.Amount, bool) {
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
