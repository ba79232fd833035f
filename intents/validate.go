package intents

import (
	"slices"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// MaxViolations is the maximum number of violations that Validate returns. If validation takes too much work, one further violation reports
// this.
const MaxViolations = 64

// Validate checks the parameters of a call, which are a tree of package strictjson. If they are valid, it returns them with the defaults
// filled in. Otherwise, it returns all violations, up to MaxViolations. They are in the order in which the intent declares its parameters;
// those of undeclared parameters come last. Validate does not modify params. The returned object shares values with params, or is params
// itself if nothing has to change, so the caller must modify neither. Numbers of any size are compared exactly.
//
// If the schema of an optional parameter does not accept null, a null counts as absent, because language models tend to fill in every
// parameter of a schema. Validate does not add defaults that are nested in the schema of a parameter: JSON Schema treats them as
// annotations.
func (i *Intent) Validate(params strictjson.Object) (strictjson.Object, []schema.Violation) {
	r := schema.NewReport(MaxViolations, schema.CallSteps)
	complete := true // no default to add and no null to remove
	for n := range i.Inputs {
		p := &i.Inputs[n]
		v, sent := p.in(params)
		switch {
		case sent:
			if p.compiled.Validate(v, p.at, r); r.Exhausted() {
				return nil, append(r.Violations(), schema.TooMuch(finding.Pointer(p.Name)))
			}
		case p.Required:
			r.Missing(p.Name)
		default:
			complete = complete && !p.HasDefault && !params.Has(p.Name)
		}
	}
	if i.undeclared(params, r); r.Exhausted() {
		return nil, append(r.Violations(), schema.TooMuch(""))
	}
	switch {
	case r.Failed():
		return nil, r.Violations()
	case complete && params != nil:
		return params, nil
	default:
		return i.filled(params), nil
	}
}

// in returns the value that was sent for the parameter. sent is false if the parameter is missing, or is a null that counts as absent.
func (p *Parameter) in(params strictjson.Object) (v any, sent bool) {
	v, sent = params[p.Name]
	return v, sent && (v != nil || !p.absent)
}

// filled returns a copy of valid parameters, with defaults for those that were not sent.
func (i *Intent) filled(params strictjson.Object) strictjson.Object {
	out := make(strictjson.Object, len(i.Inputs))
	for n := range i.Inputs {
		p := &i.Inputs[n]
		if v, sent := p.in(params); sent {
			out[p.Name] = v
		} else if p.HasDefault {
			out[p.Name] = strictjson.Clone(p.Default)
		}
	}
	return out
}

// undeclared adds a violation to r for each parameter that the intent does not declare.
func (i *Intent) undeclared(params strictjson.Object, r *schema.Report) {
	var names []string
	for name := range params {
		if _, ok := i.inputs[name]; !ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 || !r.TakeSorting(len(params), len(names)) {
		return
	}
	slices.Sort(names)
	for n, name := range names {
		r.Undeclared(name, i.known, n == 0)
	}
}
