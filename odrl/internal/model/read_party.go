package model

import (
	"slices"
	"strings"
)

// references reads the assets or parties of a property. Messages refer to one of them as what.
func (r *reader) references(o *object, key, what string) []Reference {
	var list []Reference
	written := o.fields[key]
	items := o.items(key)
	if key == "assignee" && len(written) > 0 && len(items) == 0 {
		r.Problems.Doubtf("empty", written[0].Pointer, "an empty list of assignees means everyone: name the assignees, or omit assignee")
	}
	for _, f := range items {
		if !r.fits(&r.things, MaxConstraints, "targets and parties", f.Pointer) {
			return list
		}
		if ref, ok := r.reference(f, what); ok {
			list = append(list, ref)
		}
	}
	return list
}

// reference reads an asset or a party: an IRI, or a node that is defined here or elsewhere in the document.
func (r *reader) reference(f Field, what string) (Reference, bool) {
	id := r.idOf(f.Value)
	if _, isObject := f.Value.(map[string]any); !isObject && !r.defined(f.Value, thingRole) {
		s, ok := r.word(f, what)
		return r.named(f.Pointer, s), ok
	}
	if known, ok := r.readThings[id]; ok && id != "" {
		known.Pointer = f.Pointer
		for _, c := range known.Refinements {
			for range c.weight {
				if !r.fits(&r.constraints, MaxConstraints, "constraints", f.Pointer) {
					return Reference{}, false
				}
			}
		}
		return known, true
	}
	if r.reading[id] { // one of its own refinements refers to it
		return r.named(f.Pointer, id), true
	}
	o := r.node(f, what, thingRole)
	if o == nil {
		return Reference{}, false
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

func (r *reader) named(pointer, s string) Reference {
	iri := r.Expand(s)
	return Reference{Pointer: pointer, IRI: iri, Literal: !Absolute(iri)}
}

// thing reads the node of an asset or a party.
func (r *reader) thing(o *object, f Field, what string) (Reference, bool) {
	ref := Reference{Pointer: f.Pointer, notes: o.notes}
	r.thingTypes(o, &ref)
	for _, role := range o.items("role") { // UIM core 6.2
		if s, ok := Scalar(role.Value); ok {
			o.note("role", s)
			ref.notes = o.notes
		}
	}
	id, named := o.one("@id")
	if value, has := o.one("@value"); !named && has {
		id, named = value, true
		ref.Literal = true
	}
	if source, has := o.one("source"); has {
		if s, ok := r.word(source, "a source"); ok {
			ref.Source, ref.Collection = r.Expand(s), true
		}
	}
	ref.Refinements = r.constraintList(o, "refinement", 0)
	if named {
		s, ok := r.word(id, what)
		if !ok {
			return Reference{}, false
		}
		s = r.Expand(s)
		if !blank(s) {
			ref.IRI = s
			ref.Literal = ref.Literal || !Absolute(s)
		} else if ref.Source == "" {
			ref.IRI = s
		}
	}
	if ref.Name() == "" { // ODRL IM 2.2.1, 2.3.1: an asset or party should have a uid
		ref.IRI = "_:" + f.Pointer
		if len(ref.Refinements) == 0 {
			r.Problems.Warnf("anonymous", f.Pointer, "%s without a uid cannot be the subject of a request", what)
		}
	}
	r.thingFacts(o, ref)
	o.close(what)
	for _, t := range ref.types {
		Relate(r.Facts.Instances, ref.Name(), t)
	}
	return ref, true
}

func (r *reader) thingTypes(o *object, ref *Reference) {
	own := []string{"Asset", "AssetCollection", "Party", "PartyCollection"}
	for _, f := range o.items("@type") {
		s, ok := r.word(f, "a type")
		if !ok {
			continue
		}
		if iri := r.Expand(s); Absolute(iri) && !r.ofODRL(iri) {
			if !slices.Contains(ref.types, iri) {
				ref.types = append(ref.types, iri)
			}
			continue
		}
		name, ok := r.Local(s, r.Namespaces)
		if !ok || !slices.Contains(own, name) {
			r.Problems.Errorf("type", f.Pointer, "%s is not a valid type here: use %s", Quote(s), strings.Join(own, ", "))
			continue
		}
		ref.Collection = ref.Collection || strings.HasSuffix(name, "Collection")
	}
}

// thingFacts reads the collections and policies that an asset or a party refers to. See ODRL IM, sections 2.2.1 and 2.3.1.
func (r *reader) thingFacts(o *object, ref Reference) {
	for _, f := range o.items("partOf") {
		whole, ok := r.reference(f, "a collection")
		if ok && ref.Name() != "" {
			Relate(r.Facts.PartOf, ref.Name(), whole.Name())
		}
	}
	for _, link := range []struct{ key, property string }{{"hasPolicy", "target"}, {"assignerOf", "assigner"}, {"assigneeOf", "assignee"}} {
		for _, f := range o.items(link.key) {
			policy, ok := r.word(f, link.key)
			if !ok || ref.Name() == "" {
				continue
			}
			policy = r.Expand(policy)
			if r.shared[policy] == nil {
				r.shared[policy] = map[string][]Reference{}
			}
			list := r.shared[policy][link.property]
			if !slices.ContainsFunc(list, func(x Reference) bool { return x.Name() == ref.Name() }) {
				r.shared[policy][link.property] = append(list, ref)
			}
		}
	}
}

// nodeType checks that each type of a party or an action is an ODRL type, or belongs to another vocabulary.
func (r *reader) nodeType(o *object, own ...string) {
	for _, f := range o.items("@type") {
		s, ok := r.word(f, "a type")
		if !ok || Absolute(r.Expand(s)) && !strings.Contains(r.Expand(s), OdrlNS) {
			continue
		}
		if name, ok := r.Local(s, r.Namespaces); !ok || !slices.Contains(own, name) {
			r.Problems.Errorf("type", f.Pointer, "%s is not a valid type here: use %s", Quote(s), strings.Join(own, ", "))
		}
	}
}

// partyFields reads the parties whose function is a property, such as assigner and assignee.
func (r *reader) partyFields(o *object, into map[string][]Reference) {
	for _, fn := range functions {
		for _, ref := range r.references(o, fn, "the "+fn) {
			r.addParty(into, fn, ref)
		}
	}
}

// partyList reads UIM's party: [{function, identifier}] (UIM core 6.2).
func (r *reader) partyList(o *object, into map[string][]Reference) {
	for _, f := range o.items("party") {
		if !r.fits(&r.things, MaxConstraints, "targets and parties", f.Pointer) {
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
			r.Problems.Errorf("party", f.Pointer, "a party needs a function and an identifier")
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

func (r *reader) addParty(into map[string][]Reference, fn string, ref Reference) {
	into[fn] = append(into[fn], ref)
}
