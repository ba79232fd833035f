package words

import (
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// duties compares the duties in one role, such as the remedies. It matches them by their subject, and otherwise by action.
func (r ruleComparer) duties(o, n []*model.Atom, role string) {
	o, n = r.apart(o, n), r.apart(n, o)
	for _, d := range n {
		i := slices.IndexFunc(o, func(before *model.Atom) bool { return identity(before) == identity(d) })
		if i < 0 {
			i = slices.IndexFunc(o, func(before *model.Atom) bool { return actionOf(before) == actionOf(d) })
		}
		if i < 0 {
			r.note(Worse, "New "+role+": "+r.new.owed(aloneOf(d), "the party that owes it")+".")
			continue
		}
		before := o[i]
		o = slices.Delete(slices.Clone(o), i, i+1)
		r.duty(before, d, role)
	}
	for _, d := range o {
		r.note(Better, "This "+role+" has been removed: "+r.old.owed(aloneOf(d), "the party that owes it")+".")
	}
}

func actionOf(a *model.Atom) string {
	if a.Action == nil {
		return ""
	}
	return a.Action.Name
}

// apart returns the duties of list that have no equal duty in others. Each duty of others matches at most one.
func (r ruleComparer) apart(list, others []*model.Atom) []*model.Atom {
	count := map[string]int{}
	for _, a := range others {
		count[r.canon.of(a)]++
	}
	var out []*model.Atom
	for _, a := range list {
		if m := r.canon.of(a); count[m] > 0 {
			count[m]--
		} else {
			out = append(out, a)
		}
	}
	return out
}

// duty compares two duties with the same action.
func (r ruleComparer) duty(o, n *model.Atom, role string) {
	const debtor = "the party that owes it"
	both := capital(r.new.owed(aloneOf(n), debtor)) + ". Before: " + r.old.owed(aloneOf(o), debtor) + "."
	stated := false
	inner := ruleComparer{r.comparer, func(e Effect, text string) {
		stated = true
		r.note(e, "In the "+role+" to "+dutyName(n)+": "+text)
	}}
	if identity(o) != identity(n) {
		inner.note(Mixed, both)
	}
	inner.prices(o, n)
	inner.conditions(slices.Concat(o.Constraints, refinementsOf(o)), slices.Concat(n.Constraints, refinementsOf(n)), Better, true)
	inner.children(o, n)
	if !stated {
		inner.note(Mixed, both)
	}
}

func dutyName(a *model.Atom) string {
	switch name := actionOf(a); name {
	case "compensate":
		return "pay"
	case "":
		return "do something"
	default:
		return verb(name, "")
	}
}

// prices compares the amounts of duties to pay, and the keys of duties to sign.
func (r ruleComparer) prices(o, n *model.Atom) {
	before, after := pricesOf(o), pricesOf(n)
	if meanings(before) != meanings(after) {
		r.note(dearer(before, after), "The price is "+priceWords(r.new, after)+", instead of "+priceWords(r.old, before)+".")
	}
	isNoKey := func(c *model.Constraint) bool { return !isKey(c) }
	keys := func(a *model.Atom) []*model.Constraint {
		return slices.DeleteFunc(slices.Concat(a.Constraints, refinementsOf(a)), isNoKey)
	}
	if meanings(keys(o)) != meanings(keys(n)) {
		r.note(Mixed, "A different key must sign.")
	}
}

func meanings(constraints []*model.Constraint) string {
	return list(canonicals(constraints, constraintMeaning))
}

func pricesOf(a *model.Atom) []*model.Constraint {
	return slices.DeleteFunc(slices.Concat(a.Constraints, refinementsOf(a), a.Node.Amounts),
		func(c *model.Constraint) bool { return !isPrice(c) })
}

func priceWords(r phraser, list []*model.Constraint) string {
	if len(list) == 0 {
		return "not stated"
	}
	words := make([]string, 0, len(list))
	for _, c := range list {
		words = append(words, r.price(c))
	}
	return strings.Join(words, " and ")
}

// dearer returns the effect of a change of prices.
func dearer(before, after []*model.Constraint) Effect {
	if len(before) != 1 || len(after) != 1 || before[0].Operator != after[0].Operator || unitWord(before[0]) != unitWord(after[0]) {
		return Mixed
	}
	switch cmp, ok := compareValues(before[0], after[0]); {
	case !ok:
		return Mixed
	case cmp > 0:
		return Worse
	case cmp < 0:
		return Better
	default:
		return Same
	}
}
