package schema

import (
	"maps"
	"slices"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Schema is a compiled JSON Schema that checks values. It is safe for concurrent use.
type Schema struct {
	check    *check
	tracking bool // some schema depends on which items or properties others have evaluated
	source   any  // the schema, without annotations
}

// Validate checks a value, from any decoder, at a place of the parameters.
func (s *Schema) Validate(v any, at *Path, r *Report) {
	if checkTree(v, r, at) {
		r.tracking = s.tracking
		s.check.validate(v, at, r)
	}
}

// First checks a value. It returns the first violation, or nil if there is none or the steps are used up.
func (s *Schema) First(v any, steps *Meter) *Violation {
	r := Report{most: 1, meter: *steps}
	s.Validate(v, nil, &r)
	*steps = r.meter
	if len(r.faults) == 0 || steps.Exhausted() {
		return nil
	}
	return &r.Violations()[0]
}

// Convert makes the lossless conversions in the value, and in the values inside it where the schema combines no others. It copies what it
// changes.
func (s *Schema) Convert(v any) any { return s.check.convert(v) }

// Read reads the schema of a parameter: its keywords, except the members of skip, and those under constraints. It returns the schema in
// normal form, in which the UIM type any and the OpenAPI member nullable are written in JSON Schema, and the compiled schema; nil if list
// has a problem that makes it unusable.
func Read(list *finding.List, m strictjson.Object, at string, skip []string) (normal map[string]any, s *Schema) {
	before := list.Unusable
	list.Unusable = false
	defer func() { list.Unusable = list.Unusable || before }()
	w := &walker{List: list, at: at, schemas: map[string]bool{}, refs: map[string]string{}, parents: map[string]string{}}
	normal = w.parameter(m, at, skip)
	w.settle(normal)
	if list.Unusable {
		return normal, nil
	}
	asserted := only(normal, func(name string) bool { return !annotations[name] })
	check, tracking, err := compile(asserted, len(w.refs) > 0)
	if err != nil {
		w.Hard("schema", at, "the schema cannot be used: %v", err)
		return normal, nil
	}
	return normal, &Schema{check, tracking, asserted}
}

// parameter merges the keywords on the parameter with those under constraints.
func (w *walker) parameter(m strictjson.Object, at string, skip []string) map[string]any {
	own := make(map[string]any, len(m))
	for name, v := range m {
		if !slices.Contains(skip, name) || name == "required" && is[[]any](v) {
			own[name] = v
		}
	}
	out, _ := w.normalize(own, "", at, 0).(map[string]any)
	constraints := w.Object(at, m, "constraints")
	if len(constraints) == 0 {
		return out
	}
	more, _ := w.normalize(map[string]any(constraints), "", at+"/constraints", 0).(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(more)) {
		if _, twice := out[name]; twice {
			w.Hard("duplicate", at+"/constraints"+finding.Pointer(name), "%s is both on the parameter and under constraints", name)
			continue
		}
		out[name] = more[name]
	}
	return out
}
