package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/read"
)

// The bounds of the schema of one parameter. The gateway does not check the parts of a value whose schemas are beyond these bounds; a note
// reports this.
const (
	maxSchemas     = 300
	maxValueDepth  = 10   // values inside values
	maxLevels      = 20   // schemas inside schemas
	maxRequired    = 1000 // names of one object
	outputSchemas  = 60
	outputDepth    = 4
	maxDescription = 1000 // characters
	maxNested      = 300  // characters in the description of a value inside a parameter
)

// A schemaReader converts one schema of the document to a schema that does not refer to the document. It replaces references with their
// targets, and recursive references by references into #/$defs.
type schemaReader struct {
	*read.Document
	output bool         // the schema is that of a response: only types are kept, because agents would not receive other values
	note   func(string) // called once for each omission
	budget int
	depth  int
	open   []frame
	defs   map[string]definition // by place
	err    error
}

// A frame is one reference that is being followed.
type frame struct {
	place string // from Lookup
	depth int
}

// A definition is a schema that must be in $defs, with its name there.
type definition struct {
	name   string
	target any
}

// readSchema converts the schema of one parameter, or of a response if output is true. The error reports a reference that cannot be
// followed.
func readSchema(d *read.Document, v any, output bool, note func(string)) (map[string]any, error) {
	r := &schemaReader{Document: d, output: output, note: note, budget: maxSchemas, depth: maxValueDepth, defs: map[string]definition{}}
	if output {
		r.budget, r.depth = outputSchemas, outputDepth
	}
	out := r.object(r.convert(v, 0, 0))
	defs := map[string]any{}
	for len(defs) < len(r.defs) {
		for _, at := range slices.Sorted(maps.Keys(r.defs)) {
			d := r.defs[at]
			if _, done := defs[d.name]; done {
				continue
			}
			r.open = []frame{{at, 0}}
			defs[d.name] = r.convert(d.target, 0, 2)
			r.open = nil
		}
	}
	if len(defs) > 0 {
		out["$defs"] = defs
	}
	return out, r.err
}

func (r *schemaReader) object(v any) map[string]any {
	if m, ok := v.(map[string]any); ok {
		return m
	}
	if v == false {
		return map[string]any{"not": map[string]any{}}
	}
	return map[string]any{}
}

// convert converts one schema. depth is the number of values that contain the value of the schema, and level is the number of schemas that
// contain the schema.
func (r *schemaReader) convert(v any, depth, level int) any {
	m, ok := v.(map[string]any)
	if !ok {
		if b, ok := v.(bool); ok {
			return b
		}
		return map[string]any{}
	}
	if r.budget--; r.budget < 0 || depth > r.depth || level > maxLevels {
		if !r.output {
			r.note("deeply nested parts are not checked before they are sent")
		}
		return map[string]any{}
	}
	if ref, ok := m["$ref"].(string); ok {
		return r.reference(ref, m, depth, level)
	}
	out := map[string]any{}
	r.assertions(m, out)
	r.values(m, out, depth, level)
	r.combine(m, out, depth, level)
	if r.Old && read.Flag(m["nullable"]) {
		return orNull(out)
	}
	return out
}

func (r *schemaReader) reference(ref string, m map[string]any, depth, level int) any {
	target, at, err := r.Lookup(ref)
	if errors.Is(err, read.ErrNowhere) {
		r.note("the reference " + read.Excerpt(ref) + " has no target: any value is accepted in its place")
		return map[string]any{}
	}
	if err != nil {
		r.err = cmp.Or(r.err, err)
		return map[string]any{}
	}
	for _, f := range r.open {
		if f.place != at {
			continue
		}
		if r.output || f.depth >= depth { // a response needs no more detail, and a recursion on the same value would be endless
			return map[string]any{}
		}
		return map[string]any{"$ref": "#/$defs/" + r.define(at, target)}
	}
	r.open = append(r.open, frame{at, depth})
	out := r.convert(target, depth, level+1)
	r.open = r.open[:len(r.open)-1]
	if r.Old || len(m) == 1 {
		if d := trimmed(m["description"], maxNested); d != "" && r.Old { // many documents have a description beside $ref
			out = r.object(out)
			out.(map[string]any)["description"] = d //nolint:forcetypeassert // object made it
		}
		return out
	}
	beside := maps.Clone(m)
	delete(beside, "$ref")
	return merge(r.object(out), r.object(r.convert(beside, depth, level+1)))
}

// define returns the name in $defs for a schema that contains itself. It adds the schema to defs if it is not there yet.
func (r *schemaReader) define(at string, target any) string {
	if d, ok := r.defs[at]; ok {
		return d.name
	}
	name := cmp.Or(kebab(read.SchemaName(at)), "schema")
	taken := map[string]bool{}
	for _, d := range r.defs {
		taken[d.name] = true
	}
	for taken[name] {
		name += "-2"
	}
	r.defs[at] = definition{name, target}
	return name
}

// checks lists the keywords, in addition to type and enum, that restrict a value itself and not the values inside it.
var checks = []string{
	"multipleOf", "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "maxLength", "minLength", "pattern", "format",
	"maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties", "dependentRequired",
}

var knownTypes = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// assertions copies the keywords that restrict the value itself, and its annotations.
func (r *schemaReader) assertions(m, out map[string]any) {
	if t := types(m["type"]); t != nil {
		out["type"] = t
	}
	if d := trimmed(m["description"], maxNested); d != "" {
		out["description"] = d
	}
	enum := enumeration(m)
	if r.output {
		if len(enum) > 0 && len(enum) <= 50 {
			out["examples"] = enum
		}
		return
	}
	if len(enum) > 0 {
		out["enum"] = enum
	}
	for _, name := range checks {
		if v, ok := m[name]; ok && v != nil {
			out[name] = v
		}
	}
	for _, name := range []string{"const", "default"} {
		if v, ok := m[name]; ok {
			out[name] = v
		}
	}
	for _, name := range []string{"contentEncoding", "contentMediaType"} { // the content of a string
		if s := read.Line(read.Text(m[name]), 200); s != "" && !r.Old {
			out[name] = s
		}
	}
	if read.Flag(m["deprecated"]) {
		out["deprecated"] = true
	}
	exclusive(out, "exclusiveMinimum", "minimum")
	exclusive(out, "exclusiveMaximum", "maximum")
}

// exclusive converts the boolean keyword of OpenAPI 3.0 to the bound that JSON Schema has had since draft-06.
func exclusive(out map[string]any, name, bound string) {
	b, ok := out[name].(bool)
	if !ok {
		return
	}
	delete(out, name)
	if limit, has := out[bound]; b && has {
		out[name] = limit
		delete(out, bound)
	}
}

// types returns the known types in v, the value of a keyword type: nil if there are none, a string if there is one, and otherwise a list.
func types(v any) any {
	var out []any
	all := read.List(v)
	if s, ok := v.(string); ok {
		all = []any{s}
	}
	for _, t := range all {
		if s, ok := t.(string); ok && slices.Contains(knownTypes, s) && !slices.Contains(out, any(s)) {
			out = append(out, s)
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	default:
		return out
	}
}

// enumeration returns the values of enum. If the type is string, it converts numbers and booleans, such as an unquoted 1 or true in YAML,
// to strings.
func enumeration(m map[string]any) []any {
	var out []any
	for _, v := range read.List(m["enum"]) {
		if m["type"] == "string" {
			if s := read.Text(v); v != nil && s != "" {
				v = s
			}
		}
		out = append(out, v)
	}
	return out
}

// values converts the keywords of m that apply to the values inside a value, and adds them to out.
func (r *schemaReader) values(m, out map[string]any, depth, level int) {
	sub := func(v any) any { return r.convert(v, depth+1, level+1) }
	hidden := r.properties(m, out, depth, level)
	if items, ok := m["items"]; ok {
		if tuple, isTuple := items.([]any); isTuple {
			m = maps.Clone(m)
			m["prefixItems"] = tuple
		} else {
			out["items"] = sub(items)
		}
	}
	switch more := m["additionalProperties"].(type) {
	case map[string]any:
		out["additionalProperties"] = sub(more)
	case bool:
		if !r.output && !more {
			out["additionalProperties"] = false
		}
	}
	if r.output {
		return
	}
	var required []any
	for _, v := range read.List(m["required"]) {
		if name, ok := v.(string); ok && !hidden[name] && len(required) < maxRequired && !slices.Contains(required, v) {
			required = append(required, v)
		}
	}
	if len(required) > 0 {
		out["required"] = required
	}
	for _, name := range []string{"contains", "propertyNames"} {
		if v, ok := m[name]; ok {
			out[name] = sub(v)
		}
	}
	if tuple := read.List(m["prefixItems"]); len(tuple) > 0 {
		fresh := make([]any, len(tuple))
		for i, v := range tuple {
			fresh[i] = sub(v)
		}
		out["prefixItems"] = fresh
	}
	if patterns := read.Object(m["patternProperties"]); len(patterns) > 0 {
		fresh := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(patterns)) {
			fresh[name] = sub(patterns[name])
		}
		out["patternProperties"] = fresh
	}
}

// properties converts the properties of m and adds them to out. It omits the properties that are sent only in the other direction, and
// returns their names.
func (r *schemaReader) properties(m, out map[string]any, depth, level int) map[string]bool {
	hidden := map[string]bool{}
	all := read.Object(m["properties"])
	if ref, ok := all["$ref"].(string); ok { // the value of a property named $ref would be a schema
		v, _, err := r.Lookup(ref)
		if err != nil {
			r.err = cmp.Or(r.err, err)
		}
		all = read.Object(v)
	}
	fresh := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if r.otherDirection(all[name]) {
			hidden[name] = true
			continue
		}
		fresh[name] = r.convert(all[name], depth+1, level+1)
	}
	if len(fresh) > 0 {
		out["properties"] = fresh
	}
	return hidden
}

// otherDirection reports whether a property is readOnly in a request, or writeOnly in a response.
func (r *schemaReader) otherDirection(v any) bool {
	word := "readOnly"
	if r.output {
		word = "writeOnly"
	}
	for range read.MaxHops {
		m := read.Object(v)
		if read.Flag(m[word]) {
			return true
		}
		if all := read.List(m["allOf"]); len(all) == 1 { // the only way in OpenAPI 3.0 to add a keyword to a reference
			v = all[0]
			continue
		}
		ref, ok := m["$ref"].(string)
		if !ok {
			return false
		}
		var err error
		if v, _, err = r.Lookup(ref); err != nil {
			return false
		}
	}
	return false
}

// isNull reports whether the type of a schema permits null. A schema without a type permits null.
func isNull(schema map[string]any) bool {
	if schema["type"] == "null" || slices.Contains(read.List(schema["type"]), any("null")) || schema["type"] == nil {
		return true
	}
	return false
}

// same reports whether two trees are equal.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func describe(schema map[string]any) string {
	switch t := schema["type"].(type) {
	case string:
		return t
	case []any:
		var names []string
		for _, name := range t {
			names = append(names, fmt.Sprint(name))
		}
		return strings.Join(names, " or ")
	default:
		return "unknown"
	}
}
