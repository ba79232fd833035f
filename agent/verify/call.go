package verify

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/schema"
)

// A call is an intent with parameters from Options.Parameters or from the description of the intent.
type call struct {
	in         *intents.Intent // nil if the intent does not exist
	uid        string
	parameters map[string]any
}

// without returns the call without one of its required parameters. It returns false if the call has none.
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

// with returns the call with one parameter set.
func (c call) with(name string, value any) call {
	more := maps.Clone(c.parameters)
	more[name] = value
	return call{c.in, c.uid, more}
}

// mistyped returns the call with one parameter of the wrong type. It returns false if no parameter allows that.
func (c call) mistyped() (call, bool) {
	return c.violating(func(p *intents.Parameter) []any {
		if p.Type == "object" || p.Type == "array" {
			return []any{"uimgate-verify"}
		}
		return []any{map[string]any{"uimgate-verify": true}}
	}, true)
}

// outOfBounds returns the call with one parameter of the right type that violates another constraint. It returns false if no parameter
// allows that.
func (c call) outOfBounds() (call, bool) { return c.violating(excludedValues, false) }

// violating returns the call with a parameter value that Validate rejects: only because of its type if byType is set, and otherwise only
// for other reasons. It returns false if Validate rejects none of the values in that way.
func (c call) violating(values func(*intents.Parameter) []any, byType bool) (call, bool) {
	for i := range c.in.Inputs {
		p := &c.in.Inputs[i]
		for _, value := range values(p) {
			bad := c.with(p.Name, value)
			_, violations := c.in.Validate(bad.parameters)
			if len(violations) > 0 && !slices.ContainsFunc(violations, func(v schema.Violation) bool { return (v.Keyword == "type") != byType }) {
				return bad, true
			}
		}
	}
	return call{}, false
}

// excludedValues returns values that the constraints of a parameter may exclude.
func excludedValues(p *intents.Parameter) []any {
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

// maxText limits the length of a string that is too long on purpose.
const maxText = 10_000
