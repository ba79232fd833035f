package odrl

import (
	"slices"
	"strings"
)

// references reads IRIs, or objects that carry one as their uid.
func (r *reader) references(o *object, key, what string) []reference {
	var list []reference
	for _, f := range o.items(key) {
		if !r.fits(&r.named, MaxConstraints, "targets and parties", f.pointer) {
			return list
		}
		if ref, ok := r.reference(f, what); ok {
			list = append(list, ref)
		}
	}
	return list
}

func (r *reader) reference(f field, what string) (reference, bool) {
	if _, isObject := f.value.(map[string]any); !isObject {
		s, ok := r.word(f, what)
		return reference{f.pointer, r.expand(s)}, ok
	}
	o := r.object(f, what)
	if o == nil {
		return reference{}, false
	}
	r.nodeType(o, "Asset", "AssetCollection", "Party", "PartyCollection")
	o.items("role")
	id, ok := o.one("@id")
	if value, has := o.one("@value"); !ok && has {
		id, ok = value, true
	}
	if ref, has := o.fields["refinement"]; has {
		o.take("refinement")
		r.problems.Errorf("unsupported", ref.pointer, "%s narrowed by refinements cannot be enforced here: name its members", what)
	}
	o.close(what)
	if !ok {
		r.problems.Errorf("iri", f.pointer, "%s needs a uid", what)
		return reference{}, false
	}
	s, ok := r.word(id, what)
	return reference{f.pointer, r.expand(s)}, ok
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
		if !r.fits(&r.named, MaxConstraints, "targets and parties", f.pointer) {
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
		name, ok := r.term(class{"party function", functions, nil}, fn, word)
		if !ok {
			continue
		}
		if ref, ok := r.reference(id, "the identifier of a party"); ok {
			r.addParty(into, name, ref)
		}
	}
}

func (r *reader) addParty(into map[string][]reference, fn string, ref reference) {
	if !absolute(ref.iri) {
		r.problems.Errorf("iri", ref.pointer, "a party is named by an absolute IRI, not %s", quote(ref.iri))
		return
	}
	into[fn] = append(into[fn], ref)
}
