package rules

import (
	"slices"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// fillDuty sets the conditions that fulfil a duty, and its deadline.
func (e *Evaluable) fillDuty(x *Entry) {
	e.amountsOf(x)
	signs := slices.ContainsFunc(x.Node.Actions, func(a model.Action) bool { return a.Name == "signPayload" })
	if signs {
		x.Data["strict"] = true // a call cannot be signed after it was made
	}
	if !e.Literal {
		e.fillHandled(x, signs)
		return
	}
	var when []any
	for _, c := range model.Flatten(x.Node.Constraints) {
		if temporal(c) {
			id, _ := e.id(c)
			when = append(when, id)
		}
	}
	timed := slices.Clone(x.Node.Constraints)
	for _, a := range x.Node.Actions {
		for _, c := range model.Flatten(a.Refinements) {
			if temporal(c) {
				timed = append(timed, c)
			}
		}
	}
	if when != nil {
		x.Data["when"] = map[string]any{"constraints": when}
	}
	e.term(timed).into(x.Data)
	e.atoms(x)
}

// fillHandled is fillDuty for a policy that the gateway enforces. The gateway itself fulfils every duty except one to sign, which the
// call must fulfil.
func (e *Evaluable) fillHandled(x *Entry, signs bool) {
	if x.Kind == "obligation" {
		x.Data["scoped"] = true
	}
	var conditions []*model.Constraint
	for _, a := range x.Node.Actions {
		if signs && a.Name != "signPayload" {
			continue
		}
		var rest, keys []*model.Constraint
		for _, c := range model.Flatten(slices.Concat(x.Node.Constraints, a.Refinements)) {
			switch {
			case c.Logic == "" && c.Operand == "publicKey":
				keys = append(keys, c)
			case c.Logic != "" || c.Operand != "payAmount" && c.Operand != "unitOfCount":
				rest = append(rest, c)
			}
		}
		conditions = append(conditions, rest...)
		if signs {
			e.fillSigning(x, rest, keys)
		}
	}
	delete(x.Data, "constraints")
	delete(x.Data, "logic")
	e.conditions(x.Data, conditions)
	e.term(conditions).into(x.Data)
	if !signs {
		x.Data["handled"] = true
	}
}

// fillSigning sets the keys with which a duty to sign can be fulfilled, and the conditions on the time of signing. If the gateway could
// not enforce them, the duty is never fulfilled.
func (e *Evaluable) fillSigning(x *Entry, conditions, keys []*model.Constraint) {
	d, k := &Duty{Node: x.Node, Action: "signPayload"}, newCompiler(e.Names, enforcing)
	if len(x.Node.Amounts) > 0 || !k.endable(conditions) || !k.keys(d, keys) {
		return
	}
	d.when, _ = e.conjunction(when(conditions))
	x.Data["sign"] = true
	d.keyData(x.Data)
}

// when returns the conditions on the time of fulfilment that depend on facts: elapsedTime, delayPeriod and event. It leaves out those on
// the clock, which is always known.
func when(list []*model.Constraint) (out []*model.Constraint) {
	for _, c := range model.Flatten(list) {
		if temporal(c) && !every(c, func(o *model.Operand) bool { return o.Source == model.FromClock }) {
			out = append(out, c)
		}
	}
	return out
}

// temporal reports whether a constraint concerns the time of performing a duty.
func temporal(c *model.Constraint) bool {
	return every(c, func(o *model.Operand) bool { return o.Temporal })
}

// every reports whether such returns true for all left operands of a constraint.
func every(c *model.Constraint, such func(*model.Operand) bool) bool {
	if c.Logic != "" {
		return !slices.ContainsFunc(c.Operands, func(o *model.Constraint) bool { return !every(o, such) })
	}
	return such(c.Left())
}

// atoms sets the single acts that a duty consists of: each action, on each target, by each party. It sets none if there would be more than
// 10,000.
func (e *Evaluable) atoms(x *Entry) {
	var list []any
	for _, a := range x.Node.Actions {
		for _, t := range model.Each(x.Node.Targets) {
			for _, p := range model.Each(x.Parties) {
				atom := map[string]any{"action": a.Name}
				refinements := e.refinements(x, a)
				if t != nil {
					refinements = append(refinements, t.Refinements...)
				}
				if p != nil {
					refinements = append(refinements, p.Refinements...)
				}
				e.conditions(atom, refinements)
				if t != nil {
					if names := e.TargetNames(*t); names != nil {
						atom["target"] = model.Anys(names)
					}
				}
				if p != nil {
					if names := e.partyNames(*p); names != nil {
						atom["party"] = model.Anys(names)
					}
				}
				list = append(list, atom)
			}
		}
	}
	const most = 10_000
	if len(list) > 0 && len(list) <= most {
		x.Data["atoms"] = list
	}
}

// refinements returns the refinements and amounts of a duty's action. It leaves out a publicKey without a valid key, which means the key
// of the agreement.
func (e *Evaluable) refinements(x *Entry, a model.Action) []*model.Constraint {
	var list []*model.Constraint
	for _, c := range model.Flatten(slices.Concat(a.Refinements, x.Node.Amounts)) {
		if c.Operand == "publicKey" && c.Logic == "" &&
			!slices.ContainsFunc(c.Right, func(r model.Literal) bool { _, ok := ParseKey(r.Text); return ok }) {
			continue
		}
		list = append(list, c)
	}
	return list
}

// amountsOf adds the charges of a pay duty, given as payAmount eq, to its entry.
func (e *Evaluable) amountsOf(x *Entry) {
	for _, a := range x.Node.Actions {
		if a.Name != "compensate" {
			continue
		}
		for _, c := range model.Flatten(slices.Concat(a.Refinements, x.Node.Constraints, x.Node.Amounts)) {
			if c.Logic != "" || c.Operand != "payAmount" || c.Operator != "eq" || len(c.Right) != 1 {
				continue
			}
			value, ok := model.ParseDecimal(c.Right[0].Text)
			if !ok || value.Sign() <= 0 {
				continue
			}
			currency := e.currencyOf(c.Unit)
			text := c.Right[0].Text
			if m, err := money.New(text, currency); err == nil {
				text = m.Decimal()
			}
			x.Charges = append(x.Charges, price{text, currency, value})
		}
	}
}
