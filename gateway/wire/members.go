package wire

import (
	"slices"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/suggest"
)

// Members reads the known members of a JSON object and rejects all others, so that a misspelt member is never ignored.
type Members struct {
	at     string // JSON pointer to the object in the body
	object strictjson.Object
	known  []string
	first  [4]string // backing array of known, usually
	err    error
}

// NewMembers returns the Members of an object. A member is unknown until a method that returns its value was called for it.
func NewMembers(object strictjson.Object) *Members {
	m := &Members{object: object}
	m.known = m.first[:0]
	return m
}

// In sets the JSON pointer of the object in the body, if it is not the body itself.
func (m *Members) In(pointer string) *Members {
	m.at = pointer
	return m
}

// Pointer returns the JSON pointer of a member in the body.
func (m *Members) Pointer(name string) string { return m.at + "/" + strictjson.Escape(name) }

// Unknown returns the names of the unknown members, sorted.
func (m *Members) Unknown() []string {
	var unknown []string
	for name := range m.object {
		if !slices.Contains(m.known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// Take returns a member of any type, and reports whether the object has it.
func (m *Members) Take(name string) (any, bool) {
	m.known = append(m.known, name)
	v, ok := m.object[name]
	return v, ok
}

// Text returns a member that is a string, or "" if it is missing or null. If required is true, the member must not be missing or empty.
// Done returns the error.
func (m *Members) Text(name string, required bool) string {
	v, ok := m.Take(name)
	s, isText := v.(string)
	switch {
	case m.err != nil:
	case !ok && required, isText && required && s == "":
		m.err = m.Wrong(name, "is missing")
	case ok && !isText && v != nil:
		m.err = m.Wrong(name, "must be a string")
	}
	return s
}

// Flag returns a member that is a boolean, or false if it is missing or null. Done returns the error.
func (m *Members) Flag(name string) bool {
	v, ok := m.Take(name)
	is, isFlag := v.(bool)
	if m.err == nil && ok && !isFlag && v != nil {
		m.err = m.Wrong(name, "must be true or false")
	}
	return is
}

// Wrong returns the refusal of one member. what completes a sentence that begins with "The member" and the name.
func (m *Members) Wrong(name, what string) error {
	f := reason.MalformedRequest.Refusal("The member "+name+" "+what+".").With("pointer", m.Pointer(name))
	if _, ok := m.object[name]; !ok {
		for other := range m.object {
			if suggest.Name(other, []string{name}) != "" {
				f.Message = "The member " + name + " " + what + "; the body has a member with a similar name."
			}
		}
	}
	return f
}

// Done returns the first error for a missing member or a member of the wrong type or, if there is none, an error for an unknown member. The
// error is a *reason.Refusal.
func (m *Members) Done() error {
	if m.err != nil {
		return m.err
	}
	unknown := m.Unknown()
	if len(unknown) == 0 {
		return nil
	}
	name := unknown[0]
	f := reason.MalformedRequest.Refusal("The body has an unknown member.").With("known", m.known)
	if len(name) <= 64 {
		f.With("pointer", m.Pointer(name))
	}
	if near := suggest.Name(name, m.known); near != "" {
		f.Message = "The body has an unknown member; did you mean " + near + "?"
	}
	return f
}

// Object returns a member that is an object. It returns an empty object if the member is missing. If the member is not an object, it also
// returns an empty object, and Done returns an error.
func (m *Members) Object(name string) strictjson.Object {
	v, ok := m.Take(name)
	o, isObject := strictjson.AsObject(v)
	if ok && !isObject && m.err == nil {
		m.err = m.Wrong(name, "must be an object")
	}
	if o == nil {
		o = strictjson.Object{}
	}
	return o
}

// Texts returns a member that is a list of strings. It returns nil if the member is missing or null. Done returns an error if the member is
// not such a list.
func (m *Members) Texts(name string) []string {
	v, ok := m.Take(name)
	if !ok || v == nil {
		return nil
	}
	list, isList := v.([]any)
	out := make([]string, 0, len(list))
	for _, item := range list {
		text, isText := item.(string)
		isList = isList && isText
		out = append(out, text)
	}
	if !isList && m.err == nil {
		m.err = m.Wrong(name, "must be a list of strings")
	}
	return out
}
