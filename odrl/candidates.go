package odrl

import (
	"math/big"
	"slices"

	"github.com/uimgate/uimgate/internal/limit"
)

// An option is one permission under which the question is permitted.
type option struct {
	x       *entry
	limits  []limit.Limit
	charges []Charge
	price   *big.Rat
}

// rank orders permissions by lowest charge, then fewest limits, then document order.
func (v *verdict) rank(permitting []*entry) []option {
	list := make([]option, 0, len(permitting))
	currencies := map[string]bool{}
	for _, x := range permitting {
		o := option{x: x, limits: v.limits(x), price: new(big.Rat)}
		duties := v.duties(x)
		for _, obligation := range v.e.entries {
			if obligation.kind == "obligation" && v.sets["active"][obligation.n] && v.binds(obligation) {
				duties = append(duties, obligation)
			}
		}
		for _, d := range duties {
			if !v.sets["active"][d.n] || v.sets["fulfilled"][d.n] {
				continue
			}
			o.charges = append(o.charges, d.owes()...)
			for _, c := range d.charges {
				o.price.Add(o.price, c.value)
				currencies[c.currency] = true
			}
		}
		list = append(list, o)
	}
	several := len(currencies) > 1
	slices.SortStableFunc(list, func(a, b option) int {
		switch c := a.price.Cmp(b.price); {
		case several && a.price.Sign() > 0 && b.price.Sign() > 0: // of several currencies: no one is lower
			return 0
		case c != 0:
			return c
		default:
			return len(a.limits) - len(b.limits)
		}
	})
	return list
}

// binds reports whether an obligation is the party's, and, where the gateway counts it, about this call.
func (v *verdict) binds(x *entry) bool {
	for _, part := range []string{"party", "target"} {
		if part == "target" && v.e.literal {
			continue
		}
		if x.data[part] != nil && !v.premise[premiseKey(x.n, part)] {
			return false
		}
	}
	return true
}

// limits are those of a permission, and of the prohibitions that only bound it.
func (v *verdict) limits(x *entry) []limit.Limit {
	var list []limit.Limit
	for _, y := range append([]*entry{x}, v.in("bounding")...) {
		for _, l := range v.matchedLimits(y) {
			list = addLimit(list, l)
		}
	}
	return list
}

// matchedLimits are the limits of a rule under the names that the question matched, those left out
// that the question itself gave a count for.
func (v *verdict) matchedLimits(x *entry) []limit.Limit {
	counted := func(c *constraintNode) bool { return v.s.counted(v.e, c) }
	name := ""
	for _, ref := range x.node.targets {
		for _, n := range v.e.targetNames(ref) {
			if name == "" && slices.Contains(v.s.names["target"], n) {
				name = n
			}
		}
	}
	for i := range x.node.actions {
		if a := &x.node.actions[i]; slices.Contains(v.s.names["action"], a.name) {
			return v.e.limitsOf(x, a, name, counted)
		}
	}
	return v.e.limitsOf(x, nil, name, counted)
}

// duties are the entries a permission waits for.
func (v *verdict) duties(x *entry) []*entry {
	var list []*entry
	for _, node := range x.node.duties {
		list = append(list, v.e.byName[node.name()])
	}
	return list
}

// owes are the charges of a duty.
func (x *entry) owes() []Charge {
	var list []Charge
	for _, c := range x.charges {
		list = append(list, Charge{Amount: c.text, Currency: c.currency, Rule: x.node.name()})
	}
	return list
}

func (v *verdict) charges(list []*entry) []Charge {
	var out []Charge
	for _, x := range list {
		out = append(out, x.owes()...)
	}
	return out
}

// owed lists the duties that are open: of the permission that is used, the obligations that bind, and
// what became due.
func (v *verdict) owed(best []option, unmet []*entry) []Due {
	var list []Due
	add := func(x *entry) {
		if v.sets["fulfilled"][x.n] {
			return
		}
		for _, a := range x.node.actions {
			d := Due{Rule: x.node.name(), Action: a.name}
			if x.of != nil {
				d.Of = x.of.node.name()
			}
			if len(x.node.targets) == 1 {
				d.Target = x.node.targets[0].name()
			}
			if len(x.parties) == 1 {
				d.Party = x.parties[0].name()
			}
			if !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	if len(best) > 0 {
		for _, d := range v.duties(best[0].x) {
			if v.sets["active"][d.n] || v.sets["violated"][d.n] {
				add(d)
			}
		}
	}
	for _, x := range v.e.entries {
		if x.kind == "obligation" && v.sets["active"][x.n] && v.binds(x) || slices.Contains(unmet, x) {
			add(x)
		}
	}
	for _, x := range v.in("due") {
		add(x)
	}
	return list
}
