package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
)

func (v *verification) parameterForm(context.Context) finding {
	bad := v.problemsOf("parameters")
	v.eachIntent(func(name string, m map[string]any) {
		for _, member := range []string{"input_parameters", "output_parameters"} {
			if _, isMap := m[member].(map[string]any); isMap {
				bad = append(bad, name+": "+member+" is a map")
			}
		}
	})
	return point.WrongIfAny(bad)
}

// knownTypes are the types of UIM core 2.3, and integer, which its examples use.
var knownTypes = []string{"string", "number", "integer", "boolean", "array", "object", "null", "any"}

func (v *verification) parameterTypes(context.Context) finding {
	var bad []string
	v.eachIntent(func(name string, m map[string]any) {
		for _, member := range []string{"input_parameters", "output_parameters"} {
			list, _ := m[member].([]any)
			for i, item := range list {
				p, _ := item.(map[string]any)
				at := fmt.Sprintf("%s: %s/%d", name, member, i)
				switch t := p["type"].(type) {
				case string:
					if !slices.Contains(knownTypes, t) {
						bad = append(bad, fmt.Sprintf("%s has the type %.40q", at, t))
					}
				case nil:
					if !hasTypeKeyword(p) {
						bad = append(bad, at+" has no type")
					}
				}
			}
		}
	})
	return point.WrongIfAny(append(bad, v.problemsOf("unknown-type")...))
}

// hasTypeKeyword reports whether keywords of JSON Schema describe the values of a parameter without a type.
func hasTypeKeyword(p map[string]any) bool {
	constraints, _ := p["constraints"].(map[string]any)
	for _, keyword := range []string{"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"} {
		if keyword != "type" && p[keyword] != nil || constraints[keyword] != nil {
			return true
		}
	}
	return false
}

func (v *verification) parameterSchemas(context.Context) finding {
	return point.WrongIfAny(v.problemsOf("schema", "pattern", "remote-ref", "unknown-keyword", "unknown-format"))
}

func (v *verification) parameterDefaults(context.Context) finding {
	return point.WrongIfAny(v.problemsOf("default"))
}

func (v *verification) parameterDescribed(context.Context) finding {
	var none []string
	for _, in := range v.Catalog.Intents() {
		for _, p := range in.Inputs {
			if strings.TrimSpace(p.Description) == "" {
				none = append(none, in.UID.String()+" "+p.Name)
			}
		}
	}
	if len(none) > 0 {
		return missing("%s", point.Summary(none))
	}
	return pass
}
