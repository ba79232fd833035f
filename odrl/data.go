package odrl

// data is the policy in normal form as semantics.rego reads it: data.policy. Values of the policy are
// only ever data, never Rego text.
func (n *normalizer) data() map[string]any {
	permissions, binding, signing := map[string]any{}, map[string]any{}, map[string]any{}
	add := func(to map[string]any, r *rule, v map[string]any) {
		list, _ := to[r.target.name].([]any)
		to[r.target.name] = append(list, v)
	}
	for _, r := range n.rules {
		v := map[string]any{"n": integer(int64(r.n))}
		if r.assignee == "" {
			v["anyone"] = true
		} else {
			v["assignee"] = r.assignee
		}
		r.into(v)
		switch r.kind {
		case permission:
			r.dutyData(v)
			add(permissions, r, v)
		case obligation:
			add(binding, r, v)
			if d := r.duties[0]; d.action == "signPayload" {
				d.keyData(v)
				add(signing, r, v)
			}
		default:
			add(binding, r, v)
		}
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
	return map[string]any{"policy": map[string]any{
		"permission": permissions, "binding": binding, "signing": signing, "leaves": leaves, "logic": logic,
	}}
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

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
