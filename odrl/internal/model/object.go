package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Field is a value in the document and its JSON pointer.
type Field struct {
	Pointer string
	Value   any
}

// An object is a JSON object whose keys are read by their canonical names. Every key must be taken: close reports the remaining ones, so
// that a price or a limit is never silently lost.
type object struct {
	n       *Names
	pointer string
	fields  map[string][]Field // by canonical name; several if several keys or nodes have the property
	raw     map[string]string  // canonical name → key as written
	filled  map[string]bool    // the properties that were taken and had a value
	notes   notes
}

// object reads f as an object. If f is not an object, it reports a problem and returns nil.
func (n *Names) object(f Field, what string) *object {
	m, ok := f.Value.(map[string]any)
	if !ok {
		n.Problems.Errorf("type", f.Pointer, "%s must be an object, not %s", what, strictjson.Kind(f.Value))
		return nil
	}
	o := &object{n: n, pointer: f.Pointer, fields: map[string][]Field{}, raw: map[string]string{}, filled: map[string]bool{}}
	for _, raw := range SortedKeys(m) {
		if n.Problems.Full() {
			break
		}
		at := f.Pointer + "/" + escape(raw)
		name, described := n.key(raw)
		f := Field{at, m[raw]}
		if described {
			if nested(m[raw]) {
				n.Problems.Doubtf("unknown-key", at, "%s is a description and may contain only text", Quote(raw))
				continue
			}
			o.note(n.noteName(raw), m[raw])
			continue
		}
		other, twice := o.raw[name]
		switch {
		case !twice:
			o.fields[name], o.raw[name] = []Field{f}, raw
		case name == "@id" && n.sameIRI(o.fields[name][0], f):
		case name == "@type":
			o.fields[name] = append(o.fields[name], f)
		default:
			n.Problems.Errorf("duplicate", at, "%s and %s are the same property", Quote(other), Quote(raw))
		}
	}
	return o
}

func (o *object) note(name string, v any) {
	if o.notes == nil {
		o.notes = notes{}
	}
	o.notes[name] = v
}

// noteName returns the key of a description in notes: the local name of a bare word or a known term, or the IRI of any other property.
func (n *Names) noteName(raw string) string {
	s := n.Expand(raw)
	if name, ok := n.Local(s, n.Namespaces); ok {
		return name
	}
	return s
}

// sameIRI reports whether two values that identify a node are the same IRI.
func (n *Names) sameIRI(a, b Field) bool {
	name := func(f Field) string {
		for _, item := range ListOf(f) {
			switch v := item.Value.(type) {
			case string:
				return n.Expand(v)
			case map[string]any:
				for _, k := range []string{"@id", "@value"} {
					if s, ok := v[k].(string); ok {
						return n.Expand(s)
					}
				}
			}
		}
		return ""
	}
	x, y := name(a), name(b)
	return x != "" && x == y
}

// nested reports whether an annotation contains more than text, such as hidden rules.
func nested(v any) bool {
	for _, f := range ListOf(Field{Value: v}) {
		m, ok := f.Value.(map[string]any)
		if !ok {
			continue
		}
		for k, member := range m {
			if k != "@value" && k != "@language" && k != "@type" && k != "@id" && k != "type" {
				return true
			}
			switch member.(type) {
			case map[string]any, []any:
				return true
			}
		}
	}
	return false
}

func (o *object) take(name string) []Field {
	list := o.fields[name]
	delete(o.fields, name)
	return list
}

// items takes a property and returns its values, which may be written as one value or as a list.
func (o *object) items(name string) []Field {
	var list []Field
	for _, f := range o.take(name) {
		list = append(list, ListOf(f)...)
	}
	if len(list) > 0 {
		o.filled[name] = true
	}
	return list
}

// one takes a property that has one value, written alone or as a list with one element. If there is not exactly one value, it reports a
// problem and returns false; if the property is absent, it only returns false.
func (o *object) one(name string) (Field, bool) {
	whole := o.fields[name]
	if len(whole) == 0 {
		return Field{}, false
	}
	list := o.items(name)
	if len(list) != 1 {
		o.n.Problems.Errorf("cardinality", whole[0].Pointer, "%s takes exactly one value, not %d", name, len(list))
		return Field{}, false
	}
	return list[0], true
}

// extended are the objects to which a profile may add relations and functions.
var extended = []string{"a permission", "a prohibition", "a duty", "a policy"}

// close reports every key that was not taken.
func (o *object) close(what string) {
	for _, name := range SortedKeys(o.fields) {
		if o.n.Problems.Full() {
			return
		}
		f := o.fields[name][0]
		if name == "@context" {
			if o.n.knownContext(f.Value) {
				continue
			}
			o.n.Problems.Errorf("context", f.Pointer, "a context is supported only at the top of the document")
			continue
		}
		if slices.Contains(keys, name) {
			o.n.Problems.Doubtf("unknown-key", f.Pointer, "%s has no meaning in %s", Quote(o.raw[name]), what)
			continue
		}
		hint := Suggest(LastName(name), keys)
		if o.n.open && hint == "" && slices.Contains(extended, what) && o.n.namesOnly(f) { // a relation or function of the profile, ODRL IM 3.3
			o.n.Problems.Warnf("profile-term", f.Pointer, "%s is read as a property of the profile and does not affect decisions", Quote(o.raw[name]))
			continue
		}
		o.n.Problems.Doubtf("unknown-key", f.Pointer, "%s is not a known property of %s%s", Quote(o.raw[name]), what, hint)
	}
}

// namesOnly reports whether a value consists only of names of assets or parties, as a relation or a function does.
func (n *Names) namesOnly(f Field) bool {
	for _, item := range ListOf(f) {
		m, isObject := item.Value.(map[string]any)
		named := false
		for raw := range m {
			name, _ := n.key(raw)
			named = named || name == "@id" || name == "source"
		}
		if _, isText := item.Value.(string); !isText && (!isObject || !named) {
			return false
		}
	}
	return true
}

// ListOf returns the elements of an array, or of a JSON-LD @list or @set. It flattens a @list or @set within a list. For any other value,
// it returns the value alone.
func ListOf(f Field) []Field {
	if k, ok := wrapper(f.Value); ok {
		m, _ := f.Value.(map[string]any)
		return ListOf(Field{f.Pointer + "/" + k, m[k]})
	}
	a, ok := f.Value.([]any)
	if !ok {
		return []Field{f}
	}
	list := make([]Field, 0, len(a))
	for i, v := range a {
		item := Field{f.Pointer + "/" + strconv.Itoa(i), v}
		if _, wrapped := wrapper(v); wrapped {
			list = append(list, ListOf(item)...)
			continue
		}
		list = append(list, item)
	}
	return list
}

// wrapper returns the key of an object whose only member is a @list or a @set.
func wrapper(v any) (key string, ok bool) {
	m, isObject := v.(map[string]any)
	if !isObject || len(m) != 1 {
		return "", false
	}
	for _, k := range []string{"@list", "@set"} {
		if _, ok := m[k]; ok {
			return k, true
		}
	}
	return "", false
}

// word returns a string, or the string in an object such as {"@id": …} or {"@value": …}. It reports any other value, and also an empty
// string, and returns false.
func (n *Names) word(f Field, what string) (string, bool) {
	switch v := f.Value.(type) {
	case string:
		if v != "" {
			return v, true
		}
	case map[string]any:
		for _, k := range []string{"@id", "@value", "uid", "id"} {
			if s, ok := v[k].(string); ok && s != "" && (len(v) == 1 || len(v) == 2 && (v["@type"] != nil || v["type"] != nil)) {
				return s, true
			}
		}
	}
	n.Problems.Errorf("type", f.Pointer, "%s must be a string or an IRI", what)
	return "", false
}

// iri is like word, but requires an absolute IRI and returns it expanded.
func (n *Names) iri(f Field, what string) (string, bool) {
	s, ok := n.word(f, what)
	if !ok {
		return "", false
	}
	s = n.Expand(s)
	if !Absolute(s) {
		n.Problems.Errorf("iri", f.Pointer, "%s must be an absolute IRI, not %s", what, Quote(s))
		return "", false
	}
	return s, true
}

// Absolute reports whether s begins with a scheme (RFC 3986 3.1) and contains no space, control character, quotation mark or angle
// bracket.
func Absolute(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ':':
			return i > 0 && i < len(s)-1 && !hasSpace(s) && s[:2] != "_:"
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return false
}

func hasSpace(s string) bool {
	return slices.ContainsFunc([]byte(s), func(c byte) bool { return c <= ' ' || c == '<' || c == '>' || c == '"' || c == 0x7f })
}

// Scalar returns a string or a number as a string, even if it is inside a value object. It returns false for any other value.
func Scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return string(v), true
	case map[string]any:
		if inner, ok := v["@value"]; ok && isScalar(v) {
			if _, again := inner.(map[string]any); !again {
				return Scalar(inner)
			}
		}
	}
	return "", false
}

// isScalar reports whether a value object has no members other than its value, type and language.
func isScalar(v map[string]any) bool {
	for k := range v {
		if k != "@value" && k != "@type" && k != "type" && k != "@language" {
			return false
		}
	}
	return true
}

func escape(token string) string { return strictjson.Escape(token) }

// SortedKeys returns the keys of m, sorted.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Anys returns the list as []any.
func Anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// ScalarText returns a string, a number or a boolean as a string, and "" for any other value.
func ScalarText(v any) string {
	s, _ := Scalar(v)
	if b, ok := v.(bool); ok {
		return fmt.Sprint(b)
	}
	return s
}
