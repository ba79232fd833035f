package odrl

import (
	"slices"
)

// kindOf says what a node of the graph is, by its type or the properties it has.
func (r *reader) kindOf(m map[string]any) role {
	for _, raw := range sortedKeys(m) {
		switch name, _ := r.key(raw); name {
		case "leftOperand", "rightOperand", "rightOperandReference", "operator", "and", "or", "xone", "andSequence":
			return constraintRole
		case "action", "target", "duty", "remedy", "consequence", "constraint", "output":
			return ruleRole
		case "partOf", "hasPolicy", "assignerOf", "assigneeOf", "source", "refinement":
			return thingRole
		case "@type":
			for _, f := range listOf(field{value: m[raw]}) {
				s, _ := f.value.(string)
				switch t, _ := r.local(s, r.namespaces); t {
				case "Constraint", "LogicalConstraint":
					return constraintRole
				case "Rule", "Permission", "Prohibition", "Duty":
					return ruleRole
				case "Asset", "AssetCollection", "Party", "PartyCollection":
					return thingRole
				}
			}
		}
	}
	return anyRole
}

// terms notes which terms the document itself defines, before anything uses them.
func (r *reader) terms(nodes []field) {
	for _, f := range nodes {
		m, _ := f.value.(map[string]any)
		id := r.idOf(f.value)
		if m == nil || id == "" || blank(id) {
			continue
		}
		for _, raw := range sortedKeys(m) {
			name, _ := r.key(raw)
			if name == "includedIn" || name == "implies" {
				r.declared[id] = "Action"
			}
			if name != "@type" {
				continue
			}
			for _, t := range listOf(field{value: m[raw]}) {
				s, _ := t.value.(string)
				if local, _ := r.local(s, r.namespaces); slices.Contains([]string{"Action", "LeftOperand", "Operator"}, local) {
					r.declared[id] = local
				}
			}
		}
	}
}

// outside reads a node of the graph that is no policy, for what it says whether or not a rule names it.
func (r *reader) outside(f field) {
	m, ok := f.value.(map[string]any)
	if !ok {
		r.object(f, "a node") // says what is wrong
		return
	}
	switch r.kindOf(m) {
	case thingRole:
		if ref, ok := r.reference(f, "an asset or party"); ok {
			r.facts.outside[ref.name()] = ref.notes
		}
	case ruleRole, constraintRole: // read where something refers to it
	default:
		o := r.object(f, "a node")
		id, named := o.one("@id")
		iri := ""
		if named {
			iri = r.nodeID(id, "a node")
		}
		for _, relation := range []struct {
			key  string
			into map[string][]string
		}{{"includedIn", r.facts.includedIn}, {"implies", r.facts.implies}} {
			for _, item := range o.items(relation.key) {
				r.broaderAction(iri, item, relation.into)
			}
		}
		r.instance(iri, o)
		if iri != "" {
			r.facts.outside[iri] = o.notes
		}
		o.close("a node")
	}
}

// broaderAction notes that one action is included in, or implies, another. What ODRL's own actions are
// included in is ODRL's to say.
func (r *reader) broaderAction(iri string, f field, into map[string][]string) {
	s, ok := r.word(f, "an action")
	if !ok {
		return
	}
	to, ok := r.term(actionClass, f, s)
	if !ok || iri == "" {
		return
	}
	if r.ofODRL(iri) {
		r.problems.Doubtf("hierarchy", f.pointer, "%s is an action of ODRL: a document cannot change what it includes", quote(iri))
		return
	}
	add(into, iri, to)
}

// instance notes the classes that the node is an instance of.
func (r *reader) instance(iri string, o *object) {
	for _, f := range o.items("@type") {
		s, ok := r.word(f, "a type")
		if t := r.expand(s); ok && iri != "" && absolute(t) && !r.ofODRL(t) {
			add(r.facts.instances, iri, t)
		}
	}
}

// unused reports rules and constraints that nothing refers to: they would be lost.
func (r *reader) unused(nodes []field) {
	for _, f := range nodes {
		m, _ := f.value.(map[string]any)
		k := r.kindOf(m)
		if k != ruleRole && k != constraintRole {
			continue
		}
		if id := r.idOf(f.value); id == "" || !r.used[id] {
			what := map[role]string{ruleRole: "rule", constraintRole: "constraint"}[k]
			r.problems.Doubtf("unused", f.pointer, "nothing refers to this %s: it has no effect", what)
		}
	}
}
