package verify

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents"
)

// A call is an intent with parameters that its description gives.
type call struct {
	in         *intents.Intent // nil: of an intent that is not there
	uid        string
	parameters map[string]any
}

// safeCall is a call that may be made: of an intent that is marked safe, is not retired, costs nothing and
// is in the PAT's scope, and whose required parameters can be had without guessing.
func (v *visit) safeCall() (call, bool) {
	if v.probed {
		return v.probe, v.probe.in != nil
	}
	v.probed = true
	for _, in := range v.safe() {
		parameters, ok := v.parameters(in)
		if !ok {
			continue
		}
		// One that requires something tells more.
		if v.probe.in == nil || len(v.probe.parameters) == 0 && len(parameters) > 0 {
			v.probe = call{in, in.UID.String(), parameters}
		}
	}
	return v.probe, v.probe.in != nil
}

// safe are the intents that may be called.
func (v *visit) safe() []*intents.Intent {
	var session interface{ Permits(string) bool }
	if v.service != nil && v.service.Session().Agreed() {
		session = v.service.Session()
	}
	var out []*intents.Intent
	for _, in := range v.catalog.Intents() {
		if in.Safe && !in.Retired && !v.charges(in) && (session == nil || session.Permits(in.UID.String())) {
			out = append(out, in)
		}
	}
	return out
}

// parameters are those an intent requires, as the caller gave them or else from what the intent says.
func (v *visit) parameters(in *intents.Intent) (map[string]any, bool) {
	out := map[string]any{}
	if given, ok := v.o.Parameters[in.UID.String()]; ok {
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

// sample is a value the description of a parameter gives: its default, constant, first example or first
// of its enumeration; of a boolean, false.
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

// maxText bounds a text that is made to be too long.
const maxText = 10_000

// without is the call with one required parameter left out.
func (c call) without() (call, bool) {
	for i := range c.in.Inputs {
		p := &c.in.Inputs[i]
		if _, given := c.parameters[p.Name]; p.Required && given {
			less := maps.Clone(c.parameters)
			delete(less, p.Name)
			return call{c.in, c.uid, less}, true
		}
	}
	return call{}, false
}

// with is the call with one parameter set.
func (c call) with(name string, value any) call {
	more := maps.Clone(c.parameters)
	more[name] = value
	return call{c.in, c.uid, more}
}

// mistyped is the call with one parameter of another type.
func (c call) mistyped() (call, bool) {
	return c.violating(func(p *intents.Parameter) []any {
		if p.Type == "object" || p.Type == "array" {
			return []any{"uimgate-verify"}
		}
		return []any{map[string]any{"uimgate-verify": true}}
	}, true)
}

// beyond is the call with one parameter of its type that breaks another constraint.
func (c call) beyond() (call, bool) { return c.violating(outOfBounds, false) }

// violating finds a parameter and a value for it that Validate refuses, for its type or for something else.
func (c call) violating(values func(*intents.Parameter) []any, byType bool) (call, bool) {
	for i := range c.in.Inputs {
		p := &c.in.Inputs[i]
		for _, value := range values(p) {
			bad := c.with(p.Name, value)
			_, violations := c.in.Validate(bad.parameters)
			if len(violations) > 0 && !slices.ContainsFunc(violations, func(v intents.Violation) bool { return (v.Keyword == "type") != byType }) {
				return bad, true
			}
		}
	}
	return call{}, false
}

// outOfBounds are values that the constraints of a parameter may exclude.
func outOfBounds(p *intents.Parameter) []any {
	var out []any
	for keyword, by := range map[string]int64{"minimum": -1, "exclusiveMinimum": -1, "maximum": 1, "exclusiveMaximum": 1} {
		n, _ := p.Schema[keyword].(json.Number)
		if i, ok := new(big.Int).SetString(n.String(), 10); ok && len(n) < 40 {
			out = append(out, json.Number(i.Add(i, big.NewInt(by)).String()))
		}
	}
	if p.Type != "string" && p.Schema["enum"] == nil {
		return out
	}
	if n, ok := p.Schema["maxLength"].(json.Number); ok {
		if most, err := n.Int64(); err == nil && most < maxText {
			out = append(out, strings.Repeat("x", int(most)+1))
		}
	}
	return append(out, "", "uimgate-verify no such value ~!")
}
