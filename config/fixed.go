package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Value is any JSON value, written as YAML, with ${…} expanded in its strings. A Value may be a secret, so like a Secret it is hidden in
// every print, log and dump. The zero Value means that there is no value.
type Value struct{ Secret }

// maxFixedValue is the maximum size of the JSON text of a Value, in bytes.
const maxFixedValue = 64 << 10

// SetTree sets the value to a decoded YAML value. It returns an error if the value is empty, too large or not valid as JSON.
func (v *Value) SetTree(tree any) error {
	if tree == "" {
		return errors.New("is empty: give a value, or omit the key")
	}
	text, err := json.Marshal(tree)
	switch {
	case err != nil:
		return errors.New("cannot be written as JSON")
	case len(text) > maxFixedValue:
		return fmt.Errorf("is too large: at most %d bytes are allowed", maxFixedValue)
	}
	if _, err := strictjson.Decode(text); err != nil {
		return errors.New("is not valid as JSON: it has too many levels, or text that is not UTF-8")
	}
	v.Secret = NewSecret(string(text))
	return nil
}

// Tree returns the value as a new tree of package strictjson. It returns nil for the zero Value.
func (v Value) Tree() any {
	tree, err := strictjson.Decode([]byte(v.Reveal()))
	if err != nil { // the zero Value; SetTree has decoded all others
		return nil
	}
	return tree
}

// A PlaceKind is the kind of a Place.
type PlaceKind string

// The kinds of places. A parameter is sent in the places that the intent defines for it.
const (
	InParameter PlaceKind = "parameter"
	InHeader    PlaceKind = "header"
	InQuery     PlaceKind = "query"
	InBody      PlaceKind = "body"
)

// A Place is the place of a fixed value in a request: a parameter, a header or a member of the query, by its name; or a member of the body,
// by its JSON pointer (RFC 6901).
type Place struct {
	Kind PlaceKind
	Name string
}

// PlaceOf parses a key of fixed. A key without the prefix header:, query: or body: is the name of a parameter.
func PlaceOf(key string) Place {
	for _, kind := range []PlaceKind{InHeader, InQuery, InBody} {
		if name, ok := strings.CutPrefix(key, string(kind)+":"); ok {
			return Place{kind, name}
		}
	}
	return Place{InParameter, key}
}

const (
	maxFixedName  = 256 // bytes
	maxFixedDepth = 16  // tokens of a pointer
)

// checkFixed checks the form of fixed values. After the intents are loaded, package service checks whether they have these places.
func (l *loader) checkFixed(path string, fixed map[string]Value) {
	for _, key := range slices.Sorted(maps.Keys(fixed)) {
		l.checkFixedAt(path+"["+strconv.Quote(key)+"]", PlaceOf(key), fixed[key])
	}
}

func (l *loader) checkFixedAt(at string, place Place, value Value) {
	if place.Name == "" || len(place.Name) > maxFixedName {
		l.Errorf(at, "does not name a place: want a parameter, header:NAME, query:NAME or body:/pointer, at most %d bytes", maxFixedName)
		return
	}
	if value.IsEmpty() {
		if !l.Failed(at) {
			l.Errorf(at, "is empty: give a value, or omit the key")
		}
		return
	}
	switch place.Kind {
	case InHeader:
		l.header(at, place.Name)
		if text, ok := strictjson.ScalarText(value.Tree()); !ok || !printable(text) {
			l.Errorf(at, "cannot be in a header: want text or a number, on one line")
		}
	case InQuery:
		if !texts(value.Tree()) {
			l.Errorf(at, "cannot be in a query: want text, a number, true or false, or a list of them")
		}
	case InBody:
		if why := memberPointer(place.Name); why != "" {
			l.Errorf(at, "%s", why)
		}
	case InParameter: // the intent restricts the values
	}
}

// memberPointer returns why the pointer of a body member is invalid, or "" if it is valid.
func memberPointer(pointer string) string {
	if !strings.HasPrefix(pointer, "/") || pointer == "/" {
		return "is not a place in a body: want a JSON pointer such as body:/secret or body:/client/id"
	}
	tokens := strings.Split(pointer[1:], "/")
	if len(tokens) > maxFixedDepth {
		return fmt.Sprintf("is too deep: at most %d levels are allowed", maxFixedDepth)
	}
	for _, token := range tokens {
		if token == "-" || token != "" && strings.Trim(token, "0123456789") == "" {
			return "points into a list: set the whole list as the value of its member"
		}
		if plain := strings.NewReplacer("~0", "", "~1", "").Replace(token); strings.Contains(plain, "~") {
			return "is not a JSON pointer: write ~ as ~0, and / in a name as ~1"
		}
	}
	return ""
}

// texts reports whether v is a scalar, or a list of scalars.
func texts(v any) bool {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	return !slices.ContainsFunc(list, func(item any) bool {
		_, ok := strictjson.ScalarText(item)
		return !ok
	})
}
