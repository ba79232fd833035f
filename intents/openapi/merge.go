package openapi

import (
	"maps"
	"slices"

	"github.com/uimgate/uimgate/intents/openapi/read"
)

// merge is mergeInto on a copy.
func merge(base, more map[string]any) map[string]any {
	out := maps.Clone(base)
	mergeInto(out, more)
	return out
}

// mergeInto makes base one schema that requires what both require, which is the meaning of allOf, so that agents see one list of
// properties. What cannot be merged into one keyword goes to allOf. additionalProperties: false in one part would forbid the properties
// of the others, so it is kept only if all parts have it.
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
		case name == "description" && both: // the outer one describes the use here
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

// narrower returns the types that two type keywords have in common; nil if there are none. An integer is a number.
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
