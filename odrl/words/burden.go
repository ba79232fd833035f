package words

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// burdens compares the burdens that two policies impose on a request in addition to the decision: limits, charges and duties. More of them
// is worse for the requesting party.
type burdens struct {
	words    comparer
	old, new map[string][]*model.Atom // duties by name, without their conditions
	toSign   [2][]string              // for each policy, the names of its duties to sign
	remedies bool                     // one of the policies has remedies
	compared map[string][]difference  // results of compareDuties, by the names of the duties
}

// A difference describes how one burden differs, and the effect on the requesting party.
type difference struct {
	effect Effect
	text   string
}

func newBurdens(from, to *model.NormalForm) burdens {
	b := burdens{
		words: comparer{
			old: phraser{from, ofActs}, new: phraser{to, ofActs}, of: map[Change][]*model.Atom{},
			canon: canon{map[*model.Atom]string{}, map[*model.Rule]string{}},
		},
		compared: map[string][]difference{},
	}
	b.old, b.new = b.duties(from), b.duties(to)
	b.toSign = [2][]string{toSign(b.old), toSign(b.new)}
	return b
}

// duties returns all duties of a policy by name. It omits their conditions, which are true if the duty is owed, and keeps deadlines, prices
// and keys.
func (b *burdens) duties(f *model.NormalForm) map[string][]*model.Atom {
	byName, seen := map[string][]*model.Atom{}, map[*model.Atom]bool{}
	var add func(list []*model.Atom)
	add = func(list []*model.Atom) {
		for _, a := range list {
			if seen[a] {
				continue
			}
			seen[a] = true
			b.remedies = b.remedies || len(a.Remedies) > 0
			if a.Kind.Duty() {
				owed := *a
				isCondition := func(c *model.Constraint) bool { return !timely(c) && !isPrice(c) && !isKey(c) }
				owed.Constraints = slices.DeleteFunc(slices.Clone(a.Constraints), isCondition)
				byName[a.Node.Name()] = append(byName[a.Node.Name()], &owed)
			}
			for _, children := range [][]*model.Atom{a.Duties, a.Remedies, a.Consequence} {
				add(children)
			}
		}
	}
	add(f.Rules)
	return byName
}

// toSign returns the names of the duties to sign, sorted.
func toSign(duties map[string][]*model.Atom) []string {
	var names []string
	for _, name := range model.SortedKeys(duties) {
		if slices.ContainsFunc(duties[name], func(a *model.Atom) bool { return actionOf(a) == "signPayload" }) {
			names = append(names, name)
		}
	}
	return names
}

// compare lists the differences between two results that both permit or both deny.
func (b *burdens) compare(before, after odrl.Evaluation) []difference {
	list := slices.Concat(compareLimits(before.Limits, after.Limits), compareCharges(before.Charges, after.Charges))
	from, to := unpriced(before), unpriced(after)
	key := sequence([]string{sequence(from), sequence(to)})
	known, ok := b.compared[key]
	if !ok {
		known = b.compareDuties(from, to)
		b.compared[key] = known
	}
	return append(list, known...)
}

// unpriced returns the names of the owed duties, except those that are compared by their charge.
func unpriced(e odrl.Evaluation) []string {
	var names []string
	for _, d := range e.Duties {
		priced := slices.ContainsFunc(e.Charges, func(c odrl.Charge) bool { return c.Rule == d.Rule })
		if !priced && !slices.Contains(names, d.Rule) {
			names = append(names, d.Rule)
		}
	}
	return names
}

func (b *burdens) compareDuties(from, to []string) []difference {
	atoms := func(names []string, byName map[string][]*model.Atom) []*model.Atom {
		var list []*model.Atom
		for _, name := range names {
			list = append(list, byName[name]...)
		}
		return list
	}
	var list []difference
	r := ruleComparer{&b.words, func(e Effect, text string) {
		if e != Same {
			list = append(list, difference{e, text})
		}
	}}
	r.duties(atoms(from, b.old), atoms(to, b.new), "duty")
	return list
}

// compareLimits compares how often a request is permitted in each period. Of several limits for the same period, the smallest counts.
func compareLimits(before, after []limit.Limit) []difference {
	least := func(list []limit.Limit) map[string]int64 {
		most := map[string]int64{}
		for _, l := range list {
			if n, ok := most[string(l.Period)]; !ok || l.Max < n {
				most[string(l.Period)] = l.Max
			}
		}
		return most
	}
	old, now := least(before), least(after)
	rate := func(n int64, period string) string {
		s := fmt.Sprint(n, " times")
		if n == 1 {
			s = "once"
		}
		if period == string(limit.Lifetime) {
			return s + " in all"
		}
		return s + " per " + period
	}
	var list []difference
	for _, period := range bothKeys(old, now) {
		was, bounded := old[period]
		is, bounds := now[period]
		switch {
		case !bounded:
			list = append(list, difference{Worse, "It is permitted at most " + rate(is, period) + "; before, it was not limited."})
		case !bounds:
			list = append(list, difference{Better, "It is no longer limited to " + rate(was, period) + "."})
		case was != is:
			effect := Worse
			if is > was {
				effect = Better
			}
			list = append(list, difference{effect, "It is permitted at most " + rate(is, period) + ", instead of " + rate(was, period) + "."})
		}
	}
	return list
}

// compareCharges compares the amounts to pay, by currency.
func compareCharges(before, after []odrl.Charge) []difference {
	sums := func(list []odrl.Charge) map[string]*big.Rat {
		sum := map[string]*big.Rat{}
		for _, c := range list {
			x, ok := model.ParseDecimal(c.Amount)
			if !ok {
				continue
			}
			if sum[c.Currency] == nil {
				sum[c.Currency] = new(big.Rat)
			}
			sum[c.Currency].Add(sum[c.Currency], x)
		}
		return sum
	}
	old, now := sums(before), sums(after)
	var list []difference
	for _, currency := range bothKeys(old, now) {
		was, is := cmp.Or(old[currency], new(big.Rat)), cmp.Or(now[currency], new(big.Rat))
		effect := map[int]Effect{1: Worse, -1: Better, 0: Same}[is.Cmp(was)]
		if effect != Same {
			list = append(list, difference{effect, "It costs " + amount(is, currency) + ", instead of " + amount(was, currency) + "."})
		}
	}
	return list
}

func amount(x *big.Rat, currency string) string {
	if x.Sign() == 0 {
		return "nothing"
	}
	return strings.TrimSpace(decimalText(x) + " " + currency)
}

// decimalText writes a number without trailing zeros.
func decimalText(x *big.Rat) string {
	places, _ := x.FloatPrec()
	return x.FloatString(places)
}

func bothKeys[V any](a, b map[string]V) []string {
	list := slices.Concat(model.SortedKeys(a), model.SortedKeys(b))
	slices.Sort(list)
	return slices.Compact(list)
}
