package odrl

// report is every rule and duty as written.
func (v *verdict) report() []RuleReport {
	list := make([]RuleReport, 0, len(v.e.entries))
	for _, x := range v.e.entries {
		r := RuleReport{Rule: x.node.name(), Type: reportTypes[x.node.kind], Activation: Inactive, Constraints: map[string]State{}}
		if v.sets["active"][x.n] {
			r.Activation = Active
		}
		r.Deontic = v.deontic(x)
		r.Premise = v.premiseOf(x)
		for _, c := range x.node.constraints {
			v.states(r.Constraints, x, c)
		}
		for _, a := range x.node.actions {
			for _, c := range a.refinements {
				v.states(r.Constraints, x, c)
			}
		}
		for _, refs := range [][]reference{x.node.targets, x.parties} {
			for _, ref := range refs {
				for _, c := range ref.refinements {
					v.states(r.Constraints, x, c)
				}
			}
		}
		list = append(list, r)
	}
	return list
}

var reportTypes = map[ruleKind]string{
	permission: "Permission", prohibition: "Prohibition", obligation: "Duty", dutyOfPermission: "Duty", remedy: "Duty", consequence: "Duty",
}

// deontic is the state of a duty or a prohibition.
func (v *verdict) deontic(x *entry) State {
	switch {
	case x.kind == "permission":
		return ""
	case x.kind == "prohibition":
		if v.sets["infringed"][x.n] && !v.remedied(x) {
			return Violated
		}
		return NonSet
	case v.sets["violated"][x.n]:
		return Violated
	case v.sets["fulfilled"][x.n]:
		return Fulfilled
	default:
		return NonSet
	}
}

// remedied reports whether every remedy of an infringed prohibition is fulfilled. ODRL IM 2.6.6.
func (v *verdict) remedied(x *entry) bool {
	for _, node := range x.node.remedies {
		if !v.sets["fulfilled"][v.e.byName[node.name()].n] {
			return false
		}
	}
	return len(x.node.remedies) > 0
}

// premiseOf says which of its parts the question fits. Of a duty, action and target are those of what
// was performed.
func (v *verdict) premiseOf(x *entry) Premise {
	state := func(part string, stands bool) State {
		fits := x.data[part] == nil || v.premise[premiseKey(x.n, part)] // a part that stands for anything is in no data
		if x.node.kind.duty() && part != "party" {
			fits = v.sets["fulfilled"][x.n]
		}
		switch {
		case !stands:
			return ""
		case fits:
			return Satisfied
		default:
			return Unsatisfied
		}
	}
	return Premise{Target: state("target", len(x.node.targets) > 0), Party: state("party", len(x.parties) > 0), Action: state("action", len(x.node.actions) > 0)}
}

// states tells a constraint's state and those of its operands, by the polarity of the rule.
func (v *verdict) states(into map[string]State, x *entry, c *constraintNode) {
	name := c.pointer
	if c.uid != "" {
		name = c.uid
	}
	var satisfied bool
	switch id, known := v.e.bySource[c]; {
	case v.bounds(x, c) && !v.s.counted(v.e, c): // named in the answer and not compared
		satisfied = x.node.kind == permission
	case !known:
		satisfied = v.conjunction(x, c)
	case x.node.kind == permission:
		satisfied = v.holds[id]
	default:
		satisfied = !v.fails[id]
	}
	into[name] = Unsatisfied
	if satisfied {
		into[name] = Satisfied
	}
	for _, operand := range c.operands {
		v.states(into, x, operand)
	}
}

// conjunction judges an "and" at the top of a rule, which is taken apart like the list it stands in.
func (v *verdict) conjunction(x *entry, c *constraintNode) bool {
	for _, operand := range c.operands {
		states := map[string]State{}
		v.states(states, x, operand)
		name := operand.pointer
		if operand.uid != "" {
			name = operand.uid
		}
		if states[name] != Satisfied {
			return false
		}
	}
	return len(c.operands) > 0
}
