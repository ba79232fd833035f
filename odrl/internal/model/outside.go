package model

import (
	"slices"
)

// kindOf returns the role of a node of the graph, derived from its type and its properties.
func (r *reader) kindOf(m map[string]any) role {
	for _, raw := range SortedKeys(m) {
		switch name, _ := r.key(raw); name {
		case "leftOperand", "rightOperand", "rightOperandReference", "operator", "and", "or", "xone", "andSequence":
			return constraintRole
		case "action", "target", "duty", "remedy", "consequence", "constraint", "output":
			return ruleRole
		case "partOf", "hasPolicy", "assignerOf", "assigneeOf", "source", "refinement":
			return thingRole
		case "@type":
			for _, f := range ListOf(Field{Value: m[raw]}) {
				s, _ := f.Value.(string)
				switch t, _ := r.Local(s, r.Namespaces); t {
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

// terms records the terms that the document itself defines. It must be called before anything that uses them is read.
func (r *reader) terms(nodes []Field) {
	for _, f := range nodes {
		m, _ := f.Value.(map[string]any)
		id := r.idOf(f.Value)
		if m == nil || id == "" || blank(id) {
			continue
		}
		for _, raw := range SortedKeys(m) {
			name, _ := r.key(raw)
			if name == "includedIn" || name == "implies" {
				r.declared[id] = "Action"
			}
			if name != "@type" {
				continue
			}
			for _, t := range ListOf(Field{Value: m[raw]}) {
				s, _ := t.Value.(string)
				if local, _ := r.Local(s, r.Namespaces); slices.Contains([]string{"Action", "LeftOperand", "Operator"}, local) {
					r.declared[id] = local
				}
			}
		}
	}
}

// outside reads the properties of a node of the graph that is not a policy, even if no rule names the node.
func (r *reader) outside(f Field) {
	m, ok := f.Value.(map[string]any)
	if !ok {
		r.object(f, "a node") // reports errors
		return
	}
	switch r.kindOf(m) {
	case thingRole:
		if ref, ok := r.reference(f, "an asset or party"); ok {
			r.Facts.outside[ref.Name()] = ref.notes
		}
	case ruleRole, constraintRole: // read where it is referred to
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
		}{{"includedIn", r.Facts.IncludedIn}, {"implies", r.Facts.Implies}} {
			for _, item := range o.items(relation.key) {
				r.broaderAction(iri, item, relation.into, relation.key == "includedIn")
			}
		}
		r.instance(iri, o)
		if iri != "" {
			r.Facts.outside[iri] = o.notes
		}
		o.close("a node")
	}
}

// broaderAction records that one action is included in, or implies, another. A document cannot change the hierarchy of ODRL's own
// actions, but it may restate it with includedIn.
func (r *reader) broaderAction(iri string, f Field, into map[string][]string, restates bool) {
	s, ok := r.word(f, "an action")
	if !ok {
		return
	}
	to, ok := r.term(actionClass, f, s)
	if !ok || iri == "" {
		return
	}
	if r.ofODRL(iri) {
		if name, _ := r.Local(iri, r.Namespaces); restates && actions[name] != "" && Includes(to, name) {
			return
		}
		r.Problems.Doubtf("hierarchy", f.Pointer, "%s is an action of ODRL: a document cannot change the hierarchy of ODRL's actions", Quote(iri))
		return
	}
	Relate(into, iri, to)
}

// instance records the types of the node that are not ODRL's.
func (r *reader) instance(iri string, o *object) {
	for _, f := range o.items("@type") {
		s, ok := r.word(f, "a type")
		if t := r.Expand(s); ok && iri != "" && Absolute(t) && !r.ofODRL(t) {
			Relate(r.Facts.Instances, iri, t)
		}
	}
}

// unused reports rules and constraints that nothing refers to, which would otherwise be lost.
func (r *reader) unused(nodes []Field) {
	for _, f := range nodes {
		m, _ := f.Value.(map[string]any)
		k := r.kindOf(m)
		if k != ruleRole && k != constraintRole {
			continue
		}
		if id := r.idOf(f.Value); id == "" || !r.used[id] {
			what := map[role]string{ruleRole: "rule", constraintRole: "constraint"}[k]
			r.Problems.Doubtf("unused", f.Pointer, "this %s has no effect, because nothing refers to it", what)
		}
	}
}
