package odrl

import (
	"slices"
	"strings"
)

// references reads IRIs, or objects that carry one as their uid.
func (r *reader) references(o *object, key, what string) []reference {
	var list []reference
	written := o.fields[key]
	items := o.items(key)
	if key == "assignee" && len(written) > 0 && len(items) == 0 {
		r.problems.Doubtf("empty", written[0].pointer, "an empty list of assignees means everyone: name them, or leave assignee out")
	}
	for _, f := range items {
		if !r.fits(&r.things, MaxConstraints, "targets and parties", f.pointer) {
			return list
		}
		if ref, ok := r.reference(f, what); ok {
			list = append(list, ref)
		}
	}
	return list
}

// reference reads an IRI, or a node that is an asset or a party, here or elsewhere in the document.
func (r *reader) reference(f field, what string) (reference, bool) {
	id := r.idOf(f.value)
	if _, isObject := f.value.(map[string]any); !isObject && !r.defined(f.value, thingRole) {
		s, ok := r.word(f, what)
		return r.named(f.pointer, s), ok
	}
	if known, ok := r.readThings[id]; ok && id != "" {
		known.pointer = f.pointer
		for _, c := range known.refinements {
			for range c.weight {
				if !r.fits(&r.constraints, MaxConstraints, "constraints", f.pointer) {
					return reference{}, false
				}
			}
		}
		return known, true
	}
	if r.reading[id] { // named by one of its own refinements
		return r.named(f.pointer, id), true
	}
	o := r.node(f, what, thingRole)
	if o == nil {
		return reference{}, false
	}
	if id != "" {
		r.reading[id] = true
		defer delete(r.reading, id)
	}
	ref, ok := r.thing(o, f, what)
	if ok && id != "" {
		r.readThings[id] = ref
	}
	return ref, ok
}

func (r *reader) named(pointer, s string) reference {
	iri := r.expand(s)
	return reference{pointer: pointer, iri: iri, literal: !absolute(iri)}
}

// thing reads the node of an asset or a party.
func (r *reader) thing(o *object, f field, what string) (reference, bool) {
	ref := reference{pointer: f.pointer, notes: o.notes}
	r.thingTypes(o, &ref)
	for _, role := range o.items("role") { // UIM core 6.2
		if s, ok := scalar(role.value); ok {
			o.note("role", s)
			ref.notes = o.notes
		}
	}
	id, named := o.one("@id")
	if value, has := o.one("@value"); !named && has {
		id, named = value, true
		ref.literal = true
	}
	if source, has := o.one("source"); has {
		if s, ok := r.word(source, "a source"); ok {
			ref.source, ref.collection = r.expand(s), true
		}
	}
	ref.refinements = r.constraintList(o, "refinement", 0)
	if named {
		s, ok := r.word(id, what)
		if !ok {
			return reference{}, false
		}
		s = r.expand(s)
		if !blank(s) {
			ref.iri = s
			ref.literal = ref.literal || !absolute(s)
		} else if ref.source == "" {
			ref.iri = s
		}
	}
	if ref.name() == "" { // ODRL IM 2.2.1, 2.3.1: it should have one
		ref.iri = "_:" + f.pointer
		if len(ref.refinements) == 0 {
			r.problems.Warnf("anonymous", f.pointer, "%s without a uid is one that nobody can ask about", what)
		}
	}
	r.thingFacts(o, ref)
	o.close(what)
	for _, t := range ref.types {
		add(r.facts.instances, ref.name(), t)
	}
	return ref, true
}

func (r *reader) thingTypes(o *object, ref *reference) {
	own := []string{"Asset", "AssetCollection", "Party", "PartyCollection"}
	for _, f := range o.items("@type") {
		s, ok := r.word(f, "a type")
		if !ok {
			continue
		}
		if iri := r.expand(s); absolute(iri) && !r.ofODRL(iri) {
			if !slices.Contains(ref.types, iri) {
				ref.types = append(ref.types, iri)
			}
			continue
		}
		name, ok := r.local(s, r.namespaces)
		if !ok || !slices.Contains(own, name) {
			r.problems.Errorf("type", f.pointer, "%s is no type of this: use %s", quote(s), strings.Join(own, ", "))
			continue
		}
		ref.collection = ref.collection || strings.HasSuffix(name, "Collection")
	}
}

// thingFacts reads what an asset or a party says about collections and policies. ODRL IM 2.2.1, 2.3.1.
func (r *reader) thingFacts(o *object, ref reference) {
	for _, f := range o.items("partOf") {
		whole, ok := r.reference(f, "a collection")
		if ok && ref.name() != "" {
			add(r.facts.partOf, ref.name(), whole.name())
		}
	}
	for _, link := range []struct{ key, property string }{{"hasPolicy", "target"}, {"assignerOf", "assigner"}, {"assigneeOf", "assignee"}} {
		for _, f := range o.items(link.key) {
			policy, ok := r.word(f, link.key)
			if !ok || ref.name() == "" {
				continue
			}
			policy = r.expand(policy)
			if r.shared[policy] == nil {
				r.shared[policy] = map[string][]reference{}
			}
			list := r.shared[policy][link.property]
			if !slices.ContainsFunc(list, func(x reference) bool { return x.name() == ref.name() }) {
				r.shared[policy][link.property] = append(list, ref)
			}
		}
	}
}

// nodeType checks the type of an asset, party or action: ODRL's own, or one of another vocabulary.
func (r *reader) nodeType(o *object, own ...string) {
	for _, f := range o.items("@type") {
		s, ok := r.word(f, "a type")
		if !ok || absolute(r.expand(s)) && !strings.Contains(r.expand(s), odrlNS) {
			continue
		}
		if name, ok := r.local(s, r.namespaces); !ok || !slices.Contains(own, name) {
			r.problems.Errorf("type", f.pointer, "%s is no type of this: use %s", quote(s), strings.Join(own, ", "))
		}
	}
}

// partyFields reads assigner, assignee and the other functions where they stand as properties.
func (r *reader) partyFields(o *object, into map[string][]reference) {
	for _, fn := range functions {
		for _, ref := range r.references(o, fn, "the "+fn) {
			r.addParty(into, fn, ref)
		}
	}
}

// partyList reads UIM's party: [{function, identifier}] (UIM core 6.2).
func (r *reader) partyList(o *object, into map[string][]reference) {
	for _, f := range o.items("party") {
		if !r.fits(&r.things, MaxConstraints, "targets and parties", f.pointer) {
			return
		}
		p := r.object(f, "a party")
		if p == nil {
			continue
		}
		r.nodeType(p, "Party", "PartyCollection")
		p.items("role")
		fn, ok := p.one("function")
		id, named := p.one("identifier")
		if !named {
			id, named = p.one("@id")
		}
		p.close("a party")
		if !ok || !named {
			r.problems.Errorf("party", f.pointer, "a party needs a function and an identifier")
			continue
		}
		word, ok := r.word(fn, "function")
		if !ok {
			continue
		}
		name, ok := r.term(class{what: "party function", known: functions}, fn, word)
		if !ok {
			continue
		}
		if ref, ok := r.reference(id, "the identifier of a party"); ok {
			r.addParty(into, name, ref)
		}
	}
}

func (r *reader) addParty(into map[string][]reference, fn string, ref reference) {
	into[fn] = append(into[fn], ref)
}
