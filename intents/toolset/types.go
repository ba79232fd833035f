package toolset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	maxChoices = 12 // maximum number of members of a union that are written
	maxMembers = 24 // maximum number of members of an object that are written
	maxRefs    = 8  // maximum number of references that are followed, one inside the other
)

// A typer writes a JSON Schema as a type of TypeScript. It omits what TypeScript cannot express.
type typer struct {
	root  map[string]any // the document that references point into
	depth int            // how deep objects are nested at most; deeper ones are written as object
	refs  int
}

// of returns the type of a schema. nested is the number of objects around it.
func (s *typer) of(v any, nested int) string {
	schema, ok := v.(map[string]any)
	if !ok || len(schema) == 0 {
		return "unknown"
	}
	if ref, ok := schema["$ref"].(string); ok {
		return s.refer(ref, nested)
	}
	if v, ok := schema["const"]; ok {
		return literal(v)
	}
	if list, ok := schema["enum"].([]any); ok {
		return union(list, literal)
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if list, ok := schema[keyword].([]any); ok && len(list) > 0 && schema["type"] == nil {
			return union(list, func(v any) string { return s.of(v, nested) })
		}
	}
	if list, ok := schema["allOf"].([]any); ok && schema["properties"] == nil {
		return s.intersection(list, nested)
	}
	switch t := schema["type"].(type) {
	case string:
		return s.named(t, schema, nested)
	case []any:
		return union(t, func(v any) string {
			name, _ := v.(string)
			return s.named(name, schema, nested)
		})
	}
	if schema["properties"] != nil {
		return s.object(schema, nested)
	}
	return "unknown"
}

// named returns the type of a schema whose keyword type has the value name.
func (s *typer) named(name string, schema map[string]any, nested int) string {
	switch name {
	case "integer", "number":
		return "number"
	case "string", "boolean", "null":
		return name
	case "array":
		items := s.of(schema["items"], nested)
		if strings.ContainsAny(items, "|&") {
			items = "(" + items + ")"
		}
		return items + "[]"
	case "object":
		return s.object(schema, nested)
	default:
		return "unknown"
	}
}

func (s *typer) object(schema map[string]any, nested int) string {
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) == 0 {
		if values, ok := schema["additionalProperties"].(map[string]any); ok && nested < s.depth {
			return "Record<string, " + s.of(values, nested+1) + ">"
		}
		return "object"
	}
	if nested >= s.depth {
		return "object"
	}
	required, _ := schema["required"].([]any)
	var members []string
	names := slices.Sorted(maps.Keys(properties))
	// The required members come first, because later members may be cut off.
	slices.SortStableFunc(names, func(a, b string) int {
		return boolCompare(slices.Contains(required, any(b)), slices.Contains(required, any(a)))
	})
	for _, n := range names {
		if len(members) == maxMembers && !slices.Contains(required, any(n)) {
			members = append(members, "…")
			break
		}
		mark := "?"
		if slices.Contains(required, any(n)) {
			mark = ""
		}
		members = append(members, name(n)+mark+": "+s.of(properties[n], nested+1))
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

func (s *typer) intersection(list []any, nested int) string {
	var parts []string
	for _, item := range list {
		if t := s.of(item, nested); t != "unknown" && !slices.Contains(parts, t) {
			parts = append(parts, t)
		}
	}
	if len(parts) == 0 {
		return "unknown"
	}
	return strings.Join(parts, " & ")
}

// refer returns the type of the schema to which a reference in the root points.
func (s *typer) refer(ref string, nested int) string {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local || s.refs >= maxRefs || nested >= s.depth {
		return "object"
	}
	v, found := strictjson.Lookup(s.root, pointer)
	if !found {
		return "unknown"
	}
	s.refs++
	defer func() { s.refs-- }()
	return s.of(v, nested)
}

// union returns the union of the types of a list, without duplicates.
func union(list []any, one func(any) string) string {
	var parts []string
	for _, item := range list {
		t := one(item)
		if slices.Contains(parts, t) {
			continue
		}
		if len(parts) == maxChoices {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, t)
	}
	return strings.Join(parts, " | ")
}

// remark describes a parameter: its constraints, its default, and the first characters of its description.
func (s *typer) remark(p *intents.Parameter, characters int) string {
	var parts []string
	schema := p.Schema
	if len(schema.List("enum")) > maxChoices {
		parts = append(parts, fmt.Sprintf("one of %d values", len(schema.List("enum"))))
	}
	between := func(low, high, unit string) {
		least, most := schema[low], schema[high]
		switch {
		case least != nil && most != nil:
			parts = append(parts, fmt.Sprintf("%s to %s%s", literal(least), literal(most), unit))
		case least != nil:
			parts = append(parts, fmt.Sprintf("at least %s%s", literal(least), unit))
		case most != nil:
			parts = append(parts, fmt.Sprintf("at most %s%s", literal(most), unit))
		}
	}
	if schema["type"] == "integer" {
		parts = append(parts, "whole number")
	}
	between("minimum", "maximum", "")
	between("minLength", "maxLength", " characters")
	between("minItems", "maxItems", " items")
	for _, keyword := range []string{"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format", "pattern"} {
		if v := schema[keyword]; v != nil {
			text := literal(v)
			if name, isText := v.(string); isText {
				text = name
			}
			parts = append(parts, keyword+" "+short(text, maxAbout))
		}
	}
	if p.HasDefault {
		parts = append(parts, "default "+short(literal(p.Default), maxAbout))
	}
	if about := short(p.Description, characters); about != "" {
		parts = append(parts, about)
	}
	return strings.Join(parts, "; ")
}

// summary returns the start of the description of an intent, or its name.
func summary(in *intents.Intent) string {
	text := strings.TrimSpace(in.Description)
	if at := strings.IndexByte(text, '\n'); at > 0 {
		text = text[:at]
	}
	if text == "" {
		return in.Name
	}
	return text
}

// short returns the first characters of text in one line, and appends an ellipsis if text is longer.
func short(text string, characters int) string {
	if characters <= 0 {
		return ""
	}
	return lines.Clean(text, characters)
}
