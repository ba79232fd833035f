package stubs

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A kind is a kind of type.
type kind int

const (
	kindAny kind = iota
	kindText
	kindNumber
	kindInteger
	kindBoolean
	kindNull
	kindList   // of elements[0]
	kindRecord // of members
	kindMap    // from text to elements[0]
	kindUnion  // of elements
	kindConstant
)

// A typ is a type of JSON values, as far as both languages can express it.
type typ struct {
	kind     kind
	elements []typ
	members  []member
	open     bool // a record may have other members
	constant any  // string, bool or json.Number
}

type member struct {
	name, about string
	required    bool
	typ         typ
}

var anything = typ{kind: kindAny}

const (
	// maxNesting is the depth to which schemas are read. Deeper values may have any type.
	maxNesting = 12
	// maxConstants is the maximum number of values of an enum that a type lists.
	maxConstants = 100
)

var plainTypes = map[string]kind{
	"string": kindText, "number": kindNumber, "integer": kindInteger, "boolean": kindBoolean, "null": kindNull,
}

// typeOf returns the type of the values that a JSON Schema permits, or a wider one.
func typeOf(v any, depth int) typ {
	schema, ok := strictjson.AsObject(v)
	if !ok || depth > maxNesting || schema.Has("$ref") || schema.Has("allOf") || schema.Has("$dynamicRef") {
		return anything
	}
	if constant, ok := schema["const"]; ok {
		return union([]typ{constantOf(constant)})
	}
	if list, ok := schema["enum"].([]any); ok && len(list) > 0 && len(list) <= maxConstants {
		out := make([]typ, 0, len(list))
		for _, v := range list {
			out = append(out, constantOf(v))
		}
		return union(out)
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		if list, ok := schema[name].([]any); ok {
			return union(typesOf(list, depth))
		}
	}
	switch t := schema["type"].(type) {
	case string:
		return ofType(t, schema, depth)
	case []any:
		out := make([]typ, 0, len(t))
		for _, one := range t {
			name, _ := one.(string)
			out = append(out, ofType(name, schema, depth))
		}
		return union(out)
	}
	return anything
}

func typesOf(list []any, depth int) []typ {
	out := make([]typ, 0, len(list))
	for _, v := range list {
		out = append(out, typeOf(v, depth+1))
	}
	return out
}

func ofType(name string, schema strictjson.Object, depth int) typ {
	if k, ok := plainTypes[name]; ok {
		return typ{kind: k}
	}
	switch name {
	case "array":
		return typ{kind: kindList, elements: []typ{typeOf(schema["items"], depth+1)}}
	case "object":
		return record(schema, depth)
	}
	return anything
}

// record returns the type of an object. The required members come first; both groups are sorted by name.
func record(schema strictjson.Object, depth int) typ {
	properties, _ := strictjson.AsObject(schema["properties"])
	if len(properties) == 0 {
		if _, ok := strictjson.AsObject(schema["additionalProperties"]); ok {
			return typ{kind: kindMap, elements: []typ{typeOf(schema["additionalProperties"], depth+1)}}
		}
		if schema["additionalProperties"] != false {
			return typ{kind: kindMap, elements: []typ{anything}}
		}
	}
	required, _ := schema["required"].([]any)
	t := typ{kind: kindRecord, open: schema["additionalProperties"] != false}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		about := ""
		if property, ok := strictjson.AsObject(properties[name]); ok {
			about = comment(property.Text("description"))
		}
		t.members = append(t.members, member{name, about, slices.Contains(required, any(name)), typeOf(properties[name], depth+1)})
	}
	slices.SortStableFunc(t.members, func(a, b member) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	return t
}

func constantOf(v any) typ {
	switch v := v.(type) {
	case nil:
		return typ{kind: kindNull}
	case string, bool, json.Number:
		return typ{kind: kindConstant, constant: v}
	}
	return anything
}

// union returns the union of types. If one of them permits any value, so does the union.
func union(list []typ) typ {
	if len(list) == 0 || slices.ContainsFunc(list, func(t typ) bool { return t.kind == kindAny }) {
		return anything
	}
	if len(list) == 1 {
		return list[0]
	}
	return typ{kind: kindUnion, elements: list}
}
