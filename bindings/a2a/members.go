package a2a

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// members reads the members of one object in a request. It ignores unknown members, as A2A 1.0, 5.7 requires, and treats null as absent.
// It keeps the first error in wrong.
type members struct {
	object strictjson.Object
	at     string // JSON pointer to object in params
	wrong  *fault
}

func (m *members) fail(name, what string) {
	if m.wrong == nil {
		m.wrong = wrongMember(m.at+"/"+strictjson.Escape(name), what)
	}
}

// text reads a string of at most maxBytes bytes. It returns "" if the member is missing or not a string. If required is set, an empty
// string counts as missing.
func (m *members) text(name string, maxBytes int, required bool) string {
	v := m.object[name]
	s, isText := v.(string)
	switch {
	case v != nil && !isText:
		m.fail(name, "must be a string")
	case required && s == "":
		m.fail(name, "is missing")
	case len(s) > maxBytes:
		m.fail(name, "is longer than "+strconv.Itoa(maxBytes)+" bytes")
	}
	return s
}

// flag reads a boolean. It returns false if the member is missing or invalid.
func (m *members) flag(name string) bool {
	v := m.object[name]
	is, isFlag := v.(bool)
	if v != nil && !isFlag {
		m.fail(name, "must be true or false")
	}
	return is
}

// number reads an integer from least to most. It returns usual if the member is missing or invalid.
func (m *members) number(name string, least, most, usual int) int {
	v := m.object[name]
	if v == nil {
		return usual
	}
	text, isNumber := v.(json.Number)
	n, err := strconv.ParseInt(string(text), 10, 32)
	if !isNumber || err != nil || int(n) < least || int(n) > most {
		m.fail(name, "must be an integer from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
		return usual
	}
	return int(n)
}

// within reads an object. It returns an object without members if the member is missing or invalid.
func (m *members) within(name string, required bool) members {
	inner := members{object: strictjson.Object{}, at: m.at + "/" + strictjson.Escape(name)}
	v := m.object[name]
	o, isObject := strictjson.AsObject(v)
	switch {
	case isObject && v != nil:
		inner.object = o
	case v != nil:
		m.fail(name, "must be an object")
	case required:
		m.fail(name, "is missing")
	}
	return inner
}

// list reads a list. It returns nil if the member is missing or invalid.
func (m *members) list(name string) []any {
	v := m.object[name]
	list, isList := v.([]any)
	if v != nil && !isList {
		m.fail(name, "must be a list")
	}
	return list
}

// visible reports whether s consists of visible ASCII characters.
func visible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 0x21 || r > 0x7e })
}
