package page

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// silentKeywords are keywords of schemas that do not restrict the values of a parameter, or that the page shows elsewhere.
var silentKeywords = map[string]bool{
	"type": true, "title": true, "description": true, "default": true, "example": true, "examples": true, "deprecated": true, "readOnly": true,
	"writeOnly": true, "$comment": true, "$schema": true, "$id": true, "$defs": true, "definitions": true, "nullable": true,
}

// schemaRules describes the restrictions of a schema on its values, apart from their type. If the schema has keywords that schemaRules
// cannot describe, the last entry refers to the schema.
func schemaRules(schema map[string]any) []string {
	w := &schemaWords{schema: schema, used: map[string]bool{}}
	if inner := withoutNull(schema); inner != nil {
		return append(schemaRules(inner), "or null")
	}
	w.one("const", "always ")
	w.enum()
	w.between("minLength", "maxLength", " characters")
	w.between("minimum", "maximum", "")
	w.one("exclusiveMinimum", "more than ")
	w.one("exclusiveMaximum", "less than ")
	w.one("multipleOf", "a multiple of ")
	w.one("format", "format ")
	w.one("pattern", "matches ")
	w.between("minItems", "maxItems", " entries")
	w.flag("uniqueItems", "all different")
	w.between("minProperties", "maxProperties", " members")
	w.items()
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		if !w.used[name] && !silentKeywords[name] && !strings.HasPrefix(name, "x-") {
			return append(w.out, "further rules in the schema")
		}
	}
	return w.out
}

type schemaWords struct {
	schema map[string]any
	used   map[string]bool
	out    []string
}

func (w *schemaWords) take(name string) (any, bool) {
	v, has := w.schema[name]
	w.used[name] = true
	return v, has
}

func (w *schemaWords) one(name, before string) {
	if v, has := w.take(name); has {
		w.out = append(w.out, before+valueText(v))
	}
}

func (w *schemaWords) flag(name, words string) {
	if v, _ := w.take(name); v == true {
		w.out = append(w.out, words)
	}
}

func (w *schemaWords) between(low, high, unit string) {
	least, hasLeast := w.take(low)
	most, hasMost := w.take(high)
	switch {
	case hasLeast && hasMost && valueText(least) == valueText(most):
		w.out = append(w.out, "exactly "+valueText(least)+unit)
	case hasLeast && hasMost:
		w.out = append(w.out, valueText(least)+" to "+valueText(most)+unit)
	case hasLeast:
		w.out = append(w.out, "at least "+valueText(least)+unit)
	case hasMost:
		w.out = append(w.out, "at most "+valueText(most)+unit)
	}
}

func (w *schemaWords) enum() {
	const most = 20
	v, _ := w.take("enum")
	list, ok := v.([]any)
	if !ok {
		return
	}
	words := make([]string, 0, most)
	for _, value := range list[:min(len(list), most)] {
		words = append(words, valueText(value))
	}
	s := "one of " + strings.Join(words, ", ")
	if len(list) > most {
		s += " and further values in the schema"
	}
	w.out = append(w.out, s)
}

// items describes the entries of a list, unless the schema of the entries is a boolean.
func (w *schemaWords) items() {
	v, has := w.take("items")
	if !has {
		return
	}
	m, ok := v.(map[string]any)
	if !ok {
		w.used["items"] = false
		return
	}
	s := "entries"
	if kind, isText := m["type"].(string); isText {
		s += " of type " + kind
	}
	if rules := schemaRules(m); len(rules) > 0 {
		s += " (" + strings.Join(rules, "; ") + ")"
	}
	w.out = append(w.out, s)
}

// withoutNull returns the other schema if schema is an anyOf of two schemas, one of them the type null. Otherwise, it returns nil.
func withoutNull(schema map[string]any) map[string]any {
	list, ok := schema["anyOf"].([]any)
	if !ok || len(list) != 2 {
		return nil
	}
	for i, other := range []int{1, 0} {
		m, isMap := list[i].(map[string]any)
		beside, also := list[other].(map[string]any)
		if isMap && also && len(m) == 1 && m["type"] == "null" {
			return beside
		}
	}
	return nil
}

// valueText returns a value for people: a string without quotes, unless it is empty or has spaces at its ends, and any other value as JSON.
// Beyond 200 bytes, an ellipsis replaces the rest.
func valueText(v any) string {
	const most = 200 // bytes; patterns can be long
	s, isText := v.(string)
	if !isText {
		s = jsonText(v)
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	if isText && strings.TrimSpace(s) != s || s == "" {
		return `"` + s + `"`
	}
	return s
}

// jsonText returns a value as JSON, in which the characters <, > and & are not escaped. It returns "" if the value cannot be encoded.
func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
