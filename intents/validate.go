package intents

import (
	"slices"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// MaxViolations bounds the violations that one call of Validate returns.
const MaxViolations = 64

// Validate checks the parameters of a call, a tree of package strictjson. It returns an object that includes the defaults, or every
// violation (at most MaxViolations) in the order in which the intent declares its parameters, undeclared ones last. It does not modify
// the given object. The returned object shares its values, and is the given one if there is nothing to fill in: the caller must modify
// neither. Numbers are compared exactly, at any size.
//
// An optional parameter whose schema does not accept null may be sent as null and counts as absent, because models fill in every
// parameter of the schema. Defaults inside a parameter's own schema are annotations and are not added.
func (i *Intent) Validate(params strictjson.Object) (strictjson.Object, []schema.Violation) {
	r := schema.NewReport(MaxViolations, schema.CallSteps)
	complete := true // nothing to fill in or to leave out
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

// in returns the sent value of a parameter, and whether there was one.
func (p *Parameter) in(params strictjson.Object) (v any, sent bool) {
	v, sent = params[p.Name]
	return v, sent && (v != nil || !p.absent)
}

// filled returns valid parameters with the defaults of those that were not sent.
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

// undeclared reports the parameters that the intent does not declare.
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
