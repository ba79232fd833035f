package odrl

import (
	"math/big"
	"slices"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// An option is one permission that permits the action in question.
type option struct {
	x       *rules.Entry
	limits  []limit.Limit
	charges []Charge
	cost    cost
}

// options returns an option for each of the permissions, best first; see rank.
func (v *verdict) options(permitting []*rules.Entry) []option {
	list := make([]option, 0, len(permitting))
	for _, x := range permitting {
		o := option{x: x, limits: v.limits(x), cost: cost{price: new(big.Rat)}}
		duties := v.duties(x)
		for _, obligation := range v.e.Entries {
			if obligation.Kind == "obligation" && v.sets["active"][obligation.N] && v.binds(obligation) {
				duties = append(duties, obligation)
			}
		}
		for _, d := range duties {
			if !v.sets["active"][d.N] || v.sets["fulfilled"][d.N] {
				continue
			}
			o.charges = append(o.charges, owes(d)...)
			for _, c := range d.Charges {
				o.cost.price.Add(o.cost.price, c.Value)
				if c.Value.Sign() != 0 {
					o.cost.currencies = append(o.cost.currencies, c.Currency)
				}
			}
		}
		o.cost.limits = len(o.limits)
		list = append(list, o)
	}
	rank(list, func(o option) cost { return o.cost })
	return list
}

// binds reports whether an obligation binds the party and, in a policy from Publish, concerns the target of the question.
func (v *verdict) binds(x *rules.Entry) bool {
	for _, part := range []string{"party", "target"} {
		if part == "target" && v.e.Literal {
			continue
		}
		if x.Data[part] != nil && !v.premise[premiseKey(x.N, part)] {
			return false
		}
	}
	return true
}

// limits returns the limits of a permission, and those of the prohibitions that only limit how often it may be used.
func (v *verdict) limits(x *rules.Entry) []limit.Limit {
	var list []limit.Limit
	for _, y := range append([]*rules.Entry{x}, v.in("bounding")...) {
		for _, l := range v.matchedLimits(y) {
			list = rules.AddLimit(list, l)
		}
	}
	return list
}

// matchedLimits returns the limits of a rule for the action and the target that the question matched. It omits the limits for which the
// question itself gives a count.
func (v *verdict) matchedLimits(x *rules.Entry) []limit.Limit {
	counted := func(c *model.Constraint) bool { return v.s.counted(v.e, c) }
	name := ""
	for _, ref := range x.Node.Targets {
		for _, n := range v.e.TargetNames(ref) {
			if name == "" && slices.Contains(v.s.names["target"], n) {
				name = n
			}
		}
	}
	for i := range x.Node.Actions {
		if a := &x.Node.Actions[i]; slices.Contains(v.s.names["action"], a.Name) {
			return v.e.LimitsOf(x, a, name, counted)
		}
	}
	return v.e.LimitsOf(x, nil, name, counted)
}

// duties returns the entries of the duties of a permission.
func (v *verdict) duties(x *rules.Entry) []*rules.Entry {
	var list []*rules.Entry
	for _, node := range x.Node.Duties {
		list = append(list, v.e.ByName[node.Name()])
	}
	return list
}

// owes returns the charges of a duty.
func owes(x *rules.Entry) []Charge {
	var list []Charge
	for _, c := range x.Charges {
		list = append(list, Charge{Amount: c.Text, Currency: c.Currency, Rule: x.Node.Name()})
	}
	return list
}

func (v *verdict) charges(list []*rules.Entry) []Charge {
	var out []Charge
	for _, x := range list {
		out = append(out, owes(x)...)
	}
	return out
}

// owed lists the open duties: those of the best permission, the obligations that bind the party or are unmet, and the remedies and
// consequences that became due.
func (v *verdict) owed(best []option, unmet []*rules.Entry) []Due {
	var list []Due
	add := func(x *rules.Entry) {
		if v.sets["fulfilled"][x.N] {
			return
		}
		for _, a := range x.Node.Actions {
			d := Due{Rule: x.Node.Name(), Action: a.Name}
			if x.Of != nil {
				d.Of = x.Of.Node.Name()
			}
			if len(x.Node.Targets) == 1 {
				d.Target = x.Node.Targets[0].Name()
			}
			if len(x.Parties) == 1 {
				d.Party = x.Parties[0].Name()
			}
			if !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	if len(best) > 0 {
		for _, d := range v.duties(best[0].x) {
			if v.sets["active"][d.N] || v.sets["violated"][d.N] {
				add(d)
			}
		}
	}
	for _, x := range v.e.Entries {
		if x.Kind == "obligation" && v.sets["active"][x.N] && v.binds(x) || slices.Contains(unmet, x) {
			add(x)
		}
	}
	for _, x := range v.in("due") {
		add(x)
	}
	return list
}
