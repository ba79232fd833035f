package odrl

import "cmp"

// everyone is the assignee of a rule that names none, and a party that every agent is. It is no IRI.
const everyone = "*"

// data is the policy in normal form as semantics.rego reads it: data.policy. Values of the policy are
// only ever data, never Rego text.
func (n *normalizer) data() map[string]any {
	lists := map[string]map[string]any{"always": {}, "permission": {}, "binding": {}, "signing": {}}
	for _, r := range n.rules {
		v := map[string]any{"n": integer(int64(r.n)), "assignee": cmp.Or(r.assignee, everyone)}
		r.into(v)
		list := "binding"
		switch {
		case r.kind == permission:
			r.dutyData(v)
			list = "permission"
		case r.kind == obligation && r.duties[0].action == "signPayload":
			r.duties[0].keyData(v)
			list = "signing"
		}
		if list != "signing" && len(v) == 2 { // nothing but its number and assignee
			list = "always"
		}
		to := lists[list]
		sofar, _ := to[r.target.name].([]any)
		to[r.target.name] = append(sofar, v)
	}
	leaves, logic := map[string]any{}, map[string]any{}
	for _, l := range n.leaves {
		v := map[string]any{"slot": l.slot.key(), "type": l.kind, "operator": l.operator}
		if l.window {
			v["from"], v["to"] = integer(l.from), integer(l.to)
		} else {
			v["value"] = l.value
		}
		leaves[l.id] = v
	}
	for _, c := range n.compounds {
		logic[c.id] = map[string]any{"level": integer(int64(c.level)), "operator": c.operator, "operands": anys(c.operands)}
	}
	policy := map[string]any{"leaves": leaves, "logic": logic}
	for name, list := range lists {
		policy[name] = list
	}
	return map[string]any{"policy": policy}
}

func (t *terms) into(v map[string]any) {
	if len(t.constraints) > 0 {
		v["constraints"] = anys(t.constraints)
	}
	var list []any
	for _, c := range t.logic {
		list = append(list, map[string]any{"level": integer(int64(c.level)), "id": c.id})
	}
	if list != nil {
		v["logic"] = list
	}
}

// dutyData adds the duties that Rego must judge: signing, and what is owed under conditions.
func (r *rule) dutyData(v map[string]any) {
	var signing, conditional []any
	for _, d := range r.duties {
		x := map[string]any{"n": integer(int64(d.n))}
		d.into(x)
		switch {
		case d.action == "signPayload":
			d.keyData(x)
			signing = append(signing, x)
		case !d.unconditional():
			conditional = append(conditional, x)
		}
	}
	if signing != nil {
		v["signing"] = signing
	}
	if conditional != nil {
		v["duties"] = conditional
	}
}

func (d *duty) keyData(v map[string]any) {
	if d.elided {
		v["elided"] = true
		return
	}
	v["keys"] = anys(d.keys)
}
