package verify

import (
	"maps"

	"github.com/uimgate/uimgate/intents"
)

// findSample returns a call that may be made. Its intent is marked safe, is not retired, is free of charge and is in the scope of the PAT.
// The values of the required parameters are known.
func (v *verification) findSample() (call, bool) {
	if v.sampled {
		return v.sampleCall, v.sampleCall.in != nil
	}
	v.sampled = true
	for _, in := range v.safeIntents() {
		parameters, ok := v.parameters(in)
		if !ok {
			continue
		}
		// A call with required parameters allows more checks.
		if v.sampleCall.in == nil || len(v.sampleCall.parameters) == 0 && len(parameters) > 0 {
			v.sampleCall = call{in, in.UID.String(), parameters}
		}
	}
	return v.sampleCall, v.sampleCall.in != nil
}

// safeIntents returns the intents that may be called.
func (v *verification) safeIntents() []*intents.Intent {
	var out []*intents.Intent
	for _, in := range v.Catalog.Intents() {
		if in.Safe && !in.Retired && !v.charges(in) && v.Permits(in.UID.String()) {
			out = append(out, in)
		}
	}
	return out
}

// parameters returns the required parameters of an intent, from Options.Parameters or from its description. It returns false if a value is
// unknown, or if the parameters are not valid.
func (v *verification) parameters(in *intents.Intent) (map[string]any, bool) {
	out := map[string]any{}
	if given, ok := v.options.Parameters[in.UID.String()]; ok {
		maps.Copy(out, given)
	} else {
		for i := range in.Inputs {
			p := &in.Inputs[i]
			if !p.Required {
				continue
			}
			value, ok := sample(p)
			if !ok {
				return nil, false
			}
			out[p.Name] = value
		}
	}
	_, violations := in.Validate(out)
	return out, len(violations) == 0
}

// sample returns a value from the description of a parameter: its default, constant, first example or first enumerated
// value. For a boolean without any of these, the value is false.
func sample(p *intents.Parameter) (any, bool) {
	if p.HasDefault {
		return p.Default, true
	}
	for _, keyword := range []string{"const", "example"} {
		if value, ok := p.Schema[keyword]; ok {
			return value, true
		}
	}
	for _, keyword := range []string{"examples", "enum"} {
		if list, ok := p.Schema[keyword].([]any); ok && len(list) > 0 {
			return list[0], true
		}
	}
	if p.Type == "boolean" {
		return false, true
	}
	return nil, false
}
