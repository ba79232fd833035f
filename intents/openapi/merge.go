package openapi

import (
	"maps"
	"slices"

	"github.com/uimgate/uimgate/intents/openapi/read"
)

// merge is like mergeInto, but does not modify base, and returns the result.
func merge(base, more map[string]any) map[string]any {
	out := maps.Clone(base)
	mergeInto(out, more)
	return out
}

// mergeInto merges more into base, with the meaning of allOf, so that agents see one list of properties. It adds keywords that cannot be
// merged to allOf. Since additionalProperties: false in one part would forbid the properties of the other, it is kept only if the other
// part also has it, or has no properties.
func mergeInto(base, more map[string]any) {
	if len(base) == 0 {
		maps.Copy(base, more)
		return
	}
	left := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		v := more[name]
		have, both := base[name]
		switch {
		case name == "additionalProperties":
		case name == "description" && both: // the outer description is more specific
		case name == "default" || name == "description" || name == "examples" || name == "deprecated":
			base[name] = v
		case !both, same(have, v):
			base[name] = v
		case name == "required":
			base[name] = union(read.List(have), read.List(v))
		case name == "properties":
			base[name] = mergeProperties(read.Object(have), read.Object(v))
		case name == "allOf":
			base[name] = slices.Concat(read.List(have), read.List(v))
		case name == "type":
			if t := narrower(have, v); t != nil {
				base[name] = t
			} else {
				left[name] = v
			}
		default:
			left[name] = v
		}
	}
	closed, alsoClosed := base["additionalProperties"], more["additionalProperties"]
	switch {
	case closed == false && alsoClosed != false && (more["properties"] != nil || alsoClosed != nil):
		delete(base, "additionalProperties")
	case closed == nil && alsoClosed != nil && alsoClosed != false:
		base["additionalProperties"] = alsoClosed
	}
	if len(left) > 0 {
		base["allOf"] = append(slices.Clone(read.List(base["allOf"])), left)
	}
}

func mergeProperties(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for name, v := range b {
		have, both := out[name]
		x, isX := have.(map[string]any)
		y, isY := v.(map[string]any)
		if both && isX && isY {
			out[name] = merge(x, y)
			continue
		}
		out[name] = v
	}
	return out
}

func union(a, b []any) []any {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// narrower returns the types that two type keywords have in common, or nil if there are none. The types integer and number have integer
// in common.
func narrower(a, b any) any {
	as, bs := read.List(a), read.List(b)
	if as == nil {
		as = []any{a}
	}
	if bs == nil {
		bs = []any{b}
	}
	var out []any
	for _, t := range as {
		switch {
		case slices.Contains(bs, t):
			out = append(out, t)
		case t == "integer" && slices.Contains(bs, any("number")):
			out = append(out, "integer")
		case t == "number" && slices.Contains(bs, any("integer")):
			out = append(out, "integer")
		}
	}
	return types(out)
}
