package strictjson

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// An Object is a JSON object made by Decode: the values of its members are map[string]any, []any, string, json.Number, bool or nil.
// Objects inside it are plain maps, which libraries accept. An Object is assignable to map[string]any, and vice versa. The nil Object has
// no members.
type Object map[string]any

// AsObject returns a value that Decode made as an Object, and false if it is not an object.
func AsObject(v any) (Object, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, true
	case Object:
		return v, true
	default:
		return nil, false
	}
}

// AsList returns a value that Decode made as a list: a list unchanged, null as an empty list, and any other value as a list with one
// element.
func AsList(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

// Object returns the member with that name if it is an object, and nil otherwise.
func (o Object) Object(name string) Object {
	inner, _ := AsObject(o[name])
	return inner
}

// List returns the member with that name if it is an array, and nil otherwise.
func (o Object) List(name string) []any {
	list, _ := o[name].([]any)
	return list
}

// Text returns the member with that name if it is a string, and "" otherwise.
func (o Object) Text(name string) string {
	text, _ := o[name].(string)
	return text
}

// Number returns the member with that name, as it was written, if it is a number, and "" otherwise.
func (o Object) Number(name string) json.Number {
	number, _ := o[name].(json.Number)
	return number
}

// Flag returns the member with that name if it is a boolean, and false otherwise.
func (o Object) Flag(name string) bool {
	flag, _ := o[name].(bool)
	return flag
}

// Has reports whether the object has a member with that name, which may be null.
func (o Object) Has(name string) bool {
	_, ok := o[name]
	return ok
}

// Names returns the names of the members, sorted.
func (o Object) Names() []string { return slices.Sorted(maps.Keys(o)) }

// Clone returns a deep copy of a value that Decode made: it shares no object and no array with v.
func Clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = Clone(member)
		}
		return out
	case Object:
		return Clone(map[string]any(v))
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = Clone(item)
		}
		return out
	default:
		return v
	}
}

// IsObject reports whether a valid JSON document is an object.
func IsObject(document []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(document, " \t\r\n"), []byte("{"))
}
