package rules

import (
	"cmp"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// Everyone is the assignee of a rule that names none, and a party to which every agent belongs. It is not an IRI.
const Everyone = "*"

// data returns the document that semantics.rego reads: the policy in normal form under the key policy. Values of the policy are only ever
// data, never Rego text.
func (n *normalizer) data() map[string]any {
	lists := map[string]map[string]any{"always": {}, "permission": {}, "binding": {}, "signing": {}}
	for _, r := range n.rules {
		v := map[string]any{"n": model.Integer(int64(r.N)), "assignee": cmp.Or(r.Assignee, Everyone)}
		r.into(v)
		if r.Kind == model.Obligation {
			r.Duties[0].term.into(v)
		}
		list := "binding"
		switch {
		case r.Kind == model.Permission:
			r.dutyData(v)
			list = "permission"
		case r.Kind == model.Obligation && r.Duties[0].Action == "signPayload":
			r.Duties[0].keyData(v)
			list = "signing"
		}
		if list != "signing" && len(v) == 2 { // only its number and assignee
			list = "always"
		}
		to := lists[list]
		sofar, _ := to[r.Target.Name].([]any)
		to[r.Target.Name] = append(sofar, v)
	}
	leaves, logic := n.compiler.data()
	policy := map[string]any{"leaves": leaves, "logic": logic}
	for name, list := range lists {
		policy[name] = list
	}
	return map[string]any{"policy": policy}
}

// put adds a list to v, unless it is nil.
func put(v map[string]any, key string, list []any) {
	if list != nil {
		v[key] = list
	}
}

// dutyData adds the duties that the Rego modules must judge: those to sign, those under conditions, and those with a deadline.
func (r *Rule) dutyData(v map[string]any) {
	var signing, conditional, dated []any
	for _, d := range r.Duties {
		x := map[string]any{"n": model.Integer(int64(d.N))}
		d.into(x)
		if !d.term.none() {
			y := map[string]any{"action": d.Action}
			d.term.into(y)
			dated = append(dated, y)
		}
		switch {
		case d.Action == "signPayload":
			d.keyData(x)
			signing = append(signing, x)
		case !d.Unconditional():
			conditional = append(conditional, x)
		}
	}
	put(v, "signing", signing)
	put(v, "duties", conditional)
	put(v, "dated", dated)
}

// keyData adds the keys with which a duty to sign can be fulfilled, and the conditions on the time of signing.
func (d *Duty) keyData(v map[string]any) {
	if when := map[string]any{}; len(d.when.constraints)+len(d.when.logic) > 0 {
		d.when.into(when)
		v["when"] = when
	}
	if d.Elided {
		v["elided"] = true
		return
	}
	v["keys"] = model.Anys(d.Keys)
}
