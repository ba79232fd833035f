package schema

import (
	"maps"
	"slices"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	check    *check
	tracking bool // some schema depends on which items or properties others have evaluated
	source   any  // the schema, without annotations
}

// Validate validates a value at this position in the parameters, and adds the faults to r. The value may come from any decoder; a value
// that is not a JSON tree is a fault.
func (s *Schema) Validate(v any, at *Path, r *Report) {
	if checkTree(v, r, at) {
		r.tracking = s.tracking
		s.check.validate(v, at, r)
	}
}

// First validates a value and returns the first violation. It returns nil if there is none, or if the steps are used up; steps.Exhausted
// distinguishes the two.
func (s *Schema) First(v any, steps *Meter) *Violation {
	r := Report{most: 1, meter: *steps}
	s.Validate(v, nil, &r)
	*steps = r.meter
	if len(r.faults) == 0 || steps.Exhausted() {
		return nil
	}
	return &r.Violations()[0]
}

// Convert applies lossless conversions to a value, and to the values inside it, except where a schema combines schemas. It does not modify
// v.
func (s *Schema) Convert(v any) any { return s.check.convert(v) }

// Read reads the schema of a parameter from the members of m that are not in skip, and from the members of constraints in m. It adds
// problems to list. normal is the schema with plain JSON Schema instead of the UIM type any and the OpenAPI keyword nullable. s is the
// compiled schema, or nil if a problem makes the schema unusable.
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

// parameter returns the normal form of the schema that merges the keywords on the parameter with those under constraints.
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
