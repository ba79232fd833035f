package openapi

import (
	"maps"
	"slices"

	"github.com/uimgate/uimgate/intents/openapi/read"
)

// combine converts the keywords of m that apply several schemas to one value, and adds them to out.
func (r *schemaReader) combine(m, out map[string]any, depth, level int) {
	for _, v := range read.List(m["allOf"]) {
		mergeInto(out, r.object(r.convert(v, depth, level+1)))
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		all := read.List(m[name])
		if len(all) == 0 {
			continue
		}
		fresh := make([]any, len(all))
		for i, v := range all {
			fresh[i] = r.convert(v, depth, level+1)
			if !r.output {
				r.discriminate(m, v, fresh[i])
			}
		}
		into := name
		if r.output {
			into = "anyOf"
		}
		mergeInto(out, map[string]any{into: fresh})
	}
	if r.output {
		return
	}
	for _, name := range []string{"not", "if", "then", "else"} {
		if v, ok := m[name]; ok {
			out[name] = r.convert(v, depth, level+1)
		}
	}
	if all := read.Object(m["dependentSchemas"]); len(all) > 0 {
		fresh := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			fresh[name] = r.convert(all[name], depth, level+1)
		}
		out["dependentSchemas"] = fresh
	}
}

// discriminate adds to an alternative the values of the discriminator that select it. Without these values, alternatives could be equal.
func (r *schemaReader) discriminate(m map[string]any, alternative, converted any) {
	d := read.Object(m["discriminator"])
	property := read.Text(d["propertyName"])
	if s, ok := m["discriminator"].(string); ok {
		property = s
	}
	ref, isRef := read.Object(alternative)["$ref"].(string)
	out, isObject := converted.(map[string]any)
	if property == "" || !isRef || !isObject || out["$ref"] != nil {
		return
	}
	name := read.SchemaName(ref)
	var values []any
	mapping := read.Object(d["mapping"])
	if len(mapping) > maxSchemas {
		return
	}
	for _, value := range slices.Sorted(maps.Keys(mapping)) {
		if target := read.Text(mapping[value]); target == ref || target == name {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		values = []any{name}
	}
	properties := maps.Clone(read.Object(out["properties"]))
	if properties == nil {
		properties = map[string]any{}
	}
	own := maps.Clone(read.Object(properties[property]))
	if own["enum"] != nil || own["const"] != nil || own["$ref"] != nil {
		return
	}
	if own == nil {
		own = map[string]any{"type": "string"}
	}
	own["enum"] = values
	properties[property] = own
	out["properties"] = properties
	if required := read.List(out["required"]); !slices.Contains(required, any(property)) {
		out["required"] = append(slices.Clone(required), property)
	}
}

// orNull extends a schema to accept null.
func orNull(out map[string]any) map[string]any {
	isType := false
	switch t := out["type"].(type) {
	case string:
		out["type"], isType = []any{t, "null"}, true
	case []any:
		out["type"], isType = append(slices.Clone(t), "null"), true
	}
	if enum := read.List(out["enum"]); enum != nil && !slices.Contains(enum, nil) {
		out["enum"] = append(slices.Clone(enum), nil)
	}
	combined := false
	for _, name := range []string{"oneOf", "anyOf", "allOf", "$ref", "not"} {
		combined = combined || out[name] != nil
	}
	if isType && !combined {
		return out
	}
	if isType {
		out["type"] = types(slices.DeleteFunc(slices.Clone(read.List(out["type"])), func(t any) bool { return t == "null" }))
	}
	if len(out) == 0 {
		return out
	}
	wider := map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
	for _, name := range []string{"description", "default"} {
		if v, ok := out[name]; ok {
			wider[name] = v
			delete(out, name)
		}
	}
	return wider
}
