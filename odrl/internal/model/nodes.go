package model

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A role is the role of a node, which follows from the property that refers to the node.
type role int

const (
	anyRole role = iota // a node of the graph that nothing has referred to yet
	policyRole
	ruleRole
	constraintRole
	thingRole // an asset or a party
)

var roles = func() map[string]role {
	m := map[string]role{
		"target": thingRole, "asset": thingRole, "output": thingRole, "relation": thingRole, "identifier": thingRole,
		"constraint": constraintRole, "refinement": constraintRole,
	}
	for _, name := range []string{"permission", "prohibition", "obligation", "duty", "remedy", "consequence"} {
		m[name] = ruleRole
	}
	for _, name := range logics {
		m[name] = constraintRole
	}
	for _, name := range functions {
		m[name] = thingRole
	}
	return m
}()

// A definition is one object in the document that describes a node with an IRI or a blank node.
type definition struct {
	Field
	role role
}

// index records the nodes in f that other nodes may refer to, so that a rule, a constraint or an asset may be defined anywhere in the
// document.
func (r *reader) index(f Field, as role, top bool) {
	switch v := f.Value.(type) {
	case []any:
		for i, item := range v {
			r.index(Field{f.Pointer + "/" + strconv.Itoa(i), item}, as, top)
		}
	case map[string]any:
		if _, isValue := v["@value"]; isValue {
			return
		}
		raws := SortedKeys(v)
		if id := r.idOf(v); id != "" && slices.ContainsFunc(raws, func(raw string) bool { return r.describes(raw, top) }) {
			r.define(id, definition{f, as})
		}
		for _, raw := range raws {
			at := Field{f.Pointer + "/" + escape(raw), v[raw]}
			name, _ := r.key(raw)
			switch {
			case name == "@list" || name == "@set":
				r.index(at, as, top)
			case roles[name] != anyRole:
				r.index(at, roles[name], false)
			case name == "party" || name == "action":
				r.indexInside(at)
			}
		}
	}
}

// describes reports whether a property makes its object a definition of a node. At the top of the document, a type alone does; within a
// rule, a type may be part of a reference.
func (r *reader) describes(raw string, top bool) bool {
	name, _ := r.key(raw)
	return name != "@id" && name != "@context" && (top || name != "@type")
}

// indexInside indexes the nodes inside objects that are not nodes themselves: the entries of UIM's party, and actions, because the IRI of
// an action is a term that other objects share.
func (r *reader) indexInside(f Field) {
	for _, item := range ListOf(f) {
		m, _ := item.Value.(map[string]any)
		for _, raw := range SortedKeys(m) {
			if name, _ := r.key(raw); roles[name] != anyRole {
				r.index(Field{item.Pointer + "/" + escape(raw), m[raw]}, roles[name], false)
			}
		}
	}
}

func (r *reader) define(id string, d definition) {
	for _, other := range r.nodes[id] {
		if other.role != anyRole && d.role != anyRole && other.role != d.role {
			r.Problems.Errorf("duplicate", d.Pointer+"/"+escape(r.idKey(d.Value)), "the uid %s is already used at %s", Quote(id),
				PointerName(other.Pointer+"/"+escape(r.idKey(other.Value))))
			return
		}
	}
	r.nodes[id] = append(r.nodes[id], d)
}

// idKey returns the key, as written, of the property that identifies the object.
func (r *reader) idKey(v any) string {
	m, _ := v.(map[string]any)
	for _, raw := range SortedKeys(m) {
		if name, _ := r.key(raw); name == "@id" {
			return raw
		}
	}
	return "@id"
}

// idOf returns the IRI or blank node of a reference or an object, or "" if there is none.
func (r *reader) idOf(v any) string {
	switch v := v.(type) {
	case string:
		return r.Expand(v)
	case map[string]any:
		for _, f := range ListOf(Field{Value: v[r.idKey(v)]}) {
			if s, ok := f.Value.(string); ok {
				return r.Expand(s)
			}
			if m, ok := f.Value.(map[string]any); ok {
				if s, ok := m["@id"].(string); ok {
					return r.Expand(s)
				}
			}
		}
	}
	return ""
}

// definitions returns the definitions of a node that fit the role in which it is used. It leaves out those with other roles: an asset may
// also be a policy, which is read elsewhere (a duty may concern a policy).
func (r *reader) definitions(id string, as role) []definition {
	list := r.nodes[id]
	if !slices.ContainsFunc(list, func(d definition) bool { return d.role != anyRole && d.role != as }) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(d definition) bool { return d.role != anyRole && d.role != as })
}

// defined reports whether the document defines the node that v refers to, in the given role.
func (r *reader) defined(v any, as role) bool { return len(r.definitions(r.idOf(v), as)) > 0 }

// node reads f as an object, merged with all other definitions of the same node.
func (r *reader) node(f Field, what string, as role) *object {
	id := r.idOf(f.Value)
	list := r.definitions(id, as)
	if id == "" || len(list) == 0 || len(list) == 1 && list[0].Pointer == f.Pointer {
		return r.object(f, what)
	}
	r.used[id] = true
	o := r.object(list[0].Field, what)
	for _, d := range list[1:] {
		if r.Problems.Full() {
			break
		}
		r.merge(o, r.object(d.Field, what), id)
	}
	return o
}

// dangling reports whether the value refers to a node that the document does not define.
func (r *reader) dangling(v any, as role) bool {
	if _, isText := v.(string); isText {
		return !r.defined(v, as)
	}
	m, _ := v.(map[string]any)
	if len(m) == 0 {
		return false
	}
	for raw := range m {
		if name, _ := r.key(raw); name != "@id" {
			return false
		}
	}
	return !r.defined(v, as)
}

// united are the properties whose values are collected from all definitions of a node.
var united = []string{"@type", "partOf", "hasPolicy", "assignerOf", "assigneeOf", "includedIn", "implies"}

// merge adds the properties of other to o; both define the same node. Properties that both have must agree.
func (r *reader) merge(o, other *object, id string) {
	for _, name := range SortedKeys(other.fields) {
		f := other.fields[name]
		mine, both := o.fields[name]
		switch {
		case !both:
			o.fields[name], o.raw[name] = f, other.raw[name]
		case name == "@id":
		case slices.Contains(united, name):
			o.fields[name] = append(mine, f...)
		case !reflect.DeepEqual(spread(mine), spread(f)):
			r.Problems.Errorf("duplicate", f[0].Pointer,
				"%s is also defined at %s, with different values: define the node once, or with the same values", Quote(id), PointerName(o.pointer))
		}
	}
	for name, v := range other.notes {
		if _, both := o.notes[name]; !both {
			o.note(name, v)
		}
	}
}

func spread(fields []Field) []any {
	var list []any
	for _, f := range fields {
		for _, item := range ListOf(f) {
			list = append(list, item.Value)
		}
	}
	return list
}

func blank(iri string) bool { return strings.HasPrefix(iri, "_:") }
