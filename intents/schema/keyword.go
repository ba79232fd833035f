package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A valueKind is the kind of value that a schema keyword must have.
type valueKind int

const (
	anyValue valueKind = iota
	textValue
	boolValue
	numberValue
	positiveValue
	countValue
	listValue      // a list of any values
	filledValue    // a non-empty list
	namesValue     // a list of unique strings
	namesMapValue  // an object whose values are namesValue
	schemaValue    // a schema
	schemasValue   // a non-empty list of schemas
	schemaMapValue // an object whose values are schemas
	patternsValue  // a schemaMapValue whose names are patterns
	patternValue
	formatValue
	typeValue
	refValue
)

// keywords has the keywords of JSON Schema 2020-12 (core 8 and 10, validation 6 to 9), and common keywords of other dialects: definitions
// (draft-07), and nullable, example and discriminator (OpenAPI 3).
var keywords = map[string]valueKind{
	"$schema": textValue, "$comment": textValue, "$ref": refValue, "$defs": schemaMapValue, "definitions": schemaMapValue,
	"type": typeValue, "enum": filledValue, "const": anyValue, "nullable": boolValue,
	"multipleOf": positiveValue, "maximum": numberValue, "exclusiveMaximum": numberValue, "minimum": numberValue,
	"exclusiveMinimum": numberValue,
	"maxLength":        countValue, "minLength": countValue, "pattern": patternValue, "format": formatValue,
	"maxItems": countValue, "minItems": countValue, "uniqueItems": boolValue, "maxContains": countValue, "minContains": countValue,
	"maxProperties": countValue, "minProperties": countValue, "required": namesValue, "dependentRequired": namesMapValue,
	"allOf": schemasValue, "anyOf": schemasValue, "oneOf": schemasValue, "not": schemaValue, "if": schemaValue, "then": schemaValue,
	"else":             schemaValue,
	"dependentSchemas": schemaMapValue, "prefixItems": schemasValue, "items": schemaValue, "contains": schemaValue,
	"properties": schemaMapValue, "patternProperties": patternsValue, "additionalProperties": schemaValue, "propertyNames": schemaValue,
	"unevaluatedItems": schemaValue, "unevaluatedProperties": schemaValue,
	"title": textValue, "description": textValue, "default": anyValue, "deprecated": boolValue, "readOnly": boolValue, "writeOnly": boolValue,
	"examples": listValue, "example": anyValue, "discriminator": anyValue,
	"contentEncoding": textValue, "contentMediaType": textValue, "contentSchema": schemaValue,
}

var keywordNames = slices.Sorted(maps.Keys(keywords))

// annotations has the keywords that do not affect which values are valid.
var annotations = map[string]bool{
	"$schema": true, "$comment": true, "title": true, "description": true, "default": true, "deprecated": true, "readOnly": true,
	"writeOnly": true,
	"examples":  true, "example": true, "discriminator": true, "contentEncoding": true, "contentMediaType": true, "contentSchema": true,
	"nullable": true, // the walker has converted it into a type
}

// forbidden has the keywords that could change the meaning of a reference, or refer to other documents.
var forbidden = map[string]bool{
	"$id": true, "$anchor": true, "$dynamicRef": true, "$dynamicAnchor": true, "$recursiveRef": true, "$recursiveAnchor": true,
	"$vocabulary": true,
}

// eachSubschema calls visit for every schema directly inside m, in the order of the keywords. path is the position of the schema in m,
// which has one or two tokens.
func eachSubschema(m map[string]any, visit func(path []string, sub any)) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		switch keywords[name] {
		case schemaValue:
			visit([]string{name}, m[name])
		case schemasValue:
			list, _ := m[name].([]any)
			for i, sub := range list {
				visit([]string{name, strconv.Itoa(i)}, sub)
			}
		case schemaMapValue, patternsValue:
			object, _ := m[name].(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(object)) {
				visit([]string{name, key}, object[key])
			}
		default:
		}
	}
}

func arrayIndex(token string, n int) (int, bool) {
	i, err := strconv.Atoi(token)
	return i, err == nil && i >= 0 && i < n
}

// Rebase returns a copy of a schema in which each reference starts with base instead of #. It changes only references in schemas: a
// member named $ref inside an enum or a default is data.
func Rebase(schema any, base string) any {
	m, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	out := make(map[string]any, len(m))
	for name, v := range m {
		out[name] = v
		if ref, ok := v.(string); ok && name == "$ref" {
			out[name] = base + strings.TrimPrefix(ref, "#")
		}
	}
	eachSubschema(m, func(path []string, sub any) {
		replaceAt(out, path, Rebase(sub, base))
	})
	return out
}

// replaceAt sets the value at path, which has one or two tokens, to v. If path has two tokens, it replaces the inner container in m with a
// modified copy.
func replaceAt(m map[string]any, path []string, v any) {
	if len(path) == 1 {
		m[path[0]] = v
		return
	}
	switch container := m[path[0]].(type) {
	case map[string]any:
		fresh := maps.Clone(container)
		fresh[path[1]] = v
		m[path[0]] = fresh
	case []any:
		fresh := slices.Clone(container)
		if at, ok := arrayIndex(path[1], len(fresh)); ok {
			fresh[at] = v
		}
		m[path[0]] = fresh
	}
}
