package odrl

import (
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/internal/money"
)

// fillDuty writes what makes a duty fulfilled, and until when it can be.
func (e *evaluable) fillDuty(x *entry) {
	e.amountsOf(x)
	signs := slices.ContainsFunc(x.node.actions, func(a actionNode) bool { return a.name == "signPayload" })
	if signs {
		x.data["strict"] = true // a call cannot be signed afterwards
	}
	if !e.literal {
		e.fillHandled(x, signs)
		return
	}
	var when, deadlines []any
	for _, c := range flatten(x.node.constraints) {
		if !e.temporal(c) {
			continue
		}
		when = append(when, e.id(c))
		if l := e.leafOf(c); l != nil && !l.usage {
			deadlines = append(deadlines, e.deadline(l)...)
		}
	}
	if when != nil {
		x.data["when"] = map[string]any{"constraints": when}
	}
	if deadlines != nil {
		x.data["deadlines"] = deadlines
	}
	e.atoms(x)
}

// fillHandled is fillDuty under a policy that the gateway enforces: it sees to every duty but signing,
// which the call must bring along.
func (e *evaluable) fillHandled(x *entry, signs bool) {
	if x.kind == "obligation" {
		x.data["scoped"] = true
	}
	var conditions []*constraintNode
	for _, a := range x.node.actions {
		if signs && a.name != "signPayload" {
			continue
		}
		for _, c := range flatten(slices.Concat(x.node.constraints, a.refinements)) {
			if c.logic != "" || c.operand != "publicKey" && c.operand != "payAmount" && c.operand != "unitOfCount" {
				conditions = append(conditions, c)
			}
		}
		if signs {
			if d, ok := e.scratch().duty(x.node, a); ok { // else never fulfilled
				x.data["sign"] = true
				d.keyData(x.data)
			}
		}
	}
	delete(x.data, "constraints")
	delete(x.data, "logic")
	e.conditions(x.data, conditions)
	if !signs {
		x.data["handled"] = true
	}
}

// temporal reports whether a constraint is about the time at which a duty is done.
func (e *evaluable) temporal(c *constraintNode) bool {
	if c.logic != "" {
		return !slices.ContainsFunc(c.operands, func(o *constraintNode) bool { return !e.temporal(o) })
	}
	return slices.Contains([]string{"dateTime", "timeWindow", "event", "elapsedTime", "delayPeriod"}, c.operand)
}

// deadline are constraints that, once false, stay so: those that end.
func (e *evaluable) deadline(l *evalLeaf) []any {
	switch l.operator {
	case "lt", "lteq", "shorter", "shorter-or-same":
		return []any{l.id}
	case "within":
		if l.leaf.slot.as == "clock" {
			return nil
		}
		end := &evalLeaf{leaf: leaf{id: "c" + strconv.Itoa(len(e.bySource)), slot: l.leaf.slot, kind: "number", operator: "lt", value: integer(l.to), read: l.read}, slot: l.slot}
		e.bySource[&constraintNode{}] = end.id
		e.leaves = append(e.leaves, end)
		return []any{end.id}
	}
	return nil
}

// atoms writes the single acts of which a duty consists: each action, upon each target, by each party.
func (e *evaluable) atoms(x *entry) {
	var list []any
	for _, a := range x.node.actions {
		for _, t := range each(x.node.targets) {
			for _, p := range each(x.parties) {
				atom := map[string]any{"action": a.name}
				refinements := e.refinements(x, a)
				if t != nil {
					refinements = append(refinements, t.refinements...)
				}
				if p != nil {
					refinements = append(refinements, p.refinements...)
				}
				e.conditions(atom, refinements)
				if t != nil {
					if names := e.targetNames(*t); names != nil {
						atom["target"] = anys(names)
					}
				}
				if p != nil {
					if names := e.partyNames(*p); names != nil {
						atom["party"] = anys(names)
					}
				}
				list = append(list, atom)
			}
		}
	}
	const most = 10_000
	if len(list) > 0 && len(list) <= most {
		x.data["atoms"] = list
	}
}

// refinements are those of a duty's action. A key that is elided or no key at all stands for the one agreed.
func (e *evaluable) refinements(x *entry, a actionNode) []*constraintNode {
	var list []*constraintNode
	for _, c := range flatten(slices.Concat(a.refinements, x.node.amounts)) {
		if c.operand == "publicKey" && c.logic == "" && !slices.ContainsFunc(c.right, func(r literal) bool { _, ok := parseKey(r.text); return ok }) {
			continue
		}
		list = append(list, c)
	}
	return list
}

// amountsOf are what a pay duty charges: payAmount eq, with a unit.
func (e *evaluable) amountsOf(x *entry) {
	for _, a := range x.node.actions {
		if a.name != "compensate" {
			continue
		}
		for _, c := range flatten(slices.Concat(a.refinements, x.node.constraints, x.node.amounts)) {
			if c.logic != "" || c.operand != "payAmount" || c.operator != "eq" || len(c.right) != 1 {
				continue
			}
			value, ok := parseDecimal(c.right[0].text)
			if !ok || value.Sign() <= 0 {
				continue
			}
			currency := e.currencyOf(c.unit)
			text := c.right[0].text
			if m, err := money.New(text, currency); err == nil {
				text = m.Decimal()
			}
			x.charges = append(x.charges, price{text, currency, value})
		}
	}
}
