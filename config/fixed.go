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

// A Value is any JSON value, written as YAML; ${…} is expanded in its strings. It may be a secret: like a Secret, no print, log or dump
// shows it. The zero Value means that there is none.
type Value struct{ Secret }

// maxFixedValue bounds the JSON text of one Value, in bytes.
const maxFixedValue = 64 << 10

// SetTree takes the value in its YAML form. The error concerns its size, or means that there is none.
func (v *Value) SetTree(tree any) error {
	if tree == "" {
		return errors.New("is empty: want a value, or leave the key out")
	}
	text, err := json.Marshal(tree)
	switch {
	case err != nil:
		return errors.New("cannot be written as JSON")
	case len(text) > maxFixedValue:
		return fmt.Errorf("has more than the %d bytes allowed", maxFixedValue)
	}
	if _, err := strictjson.Decode(text); err != nil {
		return errors.New("has what no JSON value may have: too many levels, or text that is not UTF-8")
	}
	v.Secret = NewSecret(string(text))
	return nil
}

// Tree returns a new tree of package strictjson of the value.
func (v Value) Tree() any {
	tree, err := strictjson.Decode([]byte(v.Reveal()))
	if err != nil { // SetTree has read it
		return nil
	}
	return tree
}

// A PlaceKind is the kind of place of a fixed value in a request.
type PlaceKind string

// The kinds of places. A parameter is sent in the places that the intent defines for it.
const (
	InParameter PlaceKind = "parameter"
	InHeader    PlaceKind = "header"
	InQuery     PlaceKind = "query"
	InBody      PlaceKind = "body"
)

// A Place is the place of a fixed value: the name of a parameter, a header or a member of the query, or the JSON pointer (RFC 6901) of a
// member of the body.
type Place struct {
	Kind PlaceKind
	Name string
}

// PlaceOf parses a key of fixed.
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
	maxFixedDepth = 16  // of a pointer
)

// checkFixed checks the form of fixed values. Whether an intent has their places is checked once the intents are known.
func (l *loader) checkFixed(path string, fixed map[string]Value) {
	for _, key := range slices.Sorted(maps.Keys(fixed)) {
		l.checkFixedAt(path+"["+strconv.Quote(key)+"]", PlaceOf(key), fixed[key])
	}
}

func (l *loader) checkFixedAt(at string, place Place, value Value) {
	if place.Name == "" || len(place.Name) > maxFixedName {
		l.Errorf(at, "names no place: want a parameter, header:NAME, query:NAME or body:/pointer, at most %d bytes", maxFixedName)
		return
	}
	if value.IsEmpty() {
		if !l.Failed(at) {
			l.Errorf(at, "is empty: want a value, or leave the key out")
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

// memberPointer returns what is wrong with the pointer of a body member; "" if it is valid.
func memberPointer(pointer string) string {
	if !strings.HasPrefix(pointer, "/") || pointer == "/" {
		return "is not a place in a body: want a JSON pointer such as body:/secret or body:/client/id"
	}
	tokens := strings.Split(pointer[1:], "/")
	if len(tokens) > maxFixedDepth {
		return fmt.Sprintf("is deeper than the %d members allowed", maxFixedDepth)
	}
	for _, token := range tokens {
		if token == "-" || token != "" && strings.Trim(token, "0123456789") == "" {
			return "points into a list: write the whole list as the value of the member that holds it"
		}
		if plain := strings.NewReplacer("~0", "", "~1", "").Replace(token); strings.Contains(plain, "~") {
			return "is not a JSON pointer: a ~ is written ~0, and a / in a name ~1"
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
