package verify

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/intents"
)

func (v *visit) intentsOffered(context.Context) finding {
	list, _ := v.tree["intents"].([]any)
	if len(list) == 0 {
		return missing("intents is empty")
	}
	return holds("%d", len(list))
}

// written calls f with each intent as it is written, and the name to call it by.
func (v *visit) written(f func(name string, m map[string]any)) {
	list, _ := v.tree["intents"].([]any)
	for i, item := range list {
		m, _ := item.(map[string]any)
		name := uidOf(m)
		if name == "" {
			name = "/intents/" + strconv.Itoa(i)
		}
		f(shown(name), m)
	}
}

// uidOf is the uid an intent is written with, in core's or the draft's way.
func uidOf(m map[string]any) string {
	for _, name := range []string{"intent_uid", "uid"} {
		if s, ok := m[name].(string); ok {
			return s
		}
	}
	return ""
}

// lost reports whether there are intents that could not be read.
func (v *visit) lost() bool {
	list, _ := v.tree["intents"].([]any)
	return len(v.catalog.Intents()) < len(list)
}

func (v *visit) intentUID(context.Context) finding {
	var bad []string
	v.written(func(name string, m map[string]any) {
		uid, err := intents.ParseUID(uidOf(m))
		switch {
		case uidOf(m) == "":
			bad = append(bad, name+" has no intent_uid")
		case err != nil:
			bad = append(bad, err.Error())
		case !uid.Canonical():
			bad = append(bad, name+": intent-name is a-z, 0-9 and hyphens")
		}
	})
	return offenders(bad)
}

func (v *visit) intentUnique(context.Context) finding {
	seen := map[string]bool{}
	var bad []string
	v.written(func(name string, m map[string]any) {
		uid := uidOf(m)
		if uid != "" && seen[uid] {
			bad = append(bad, name)
		}
		seen[uid] = true
	})
	return offenders(bad)
}

func (v *visit) intentNamespace(context.Context) finding {
	host := v.agentsURL().Hostname()
	if fetch.LoopbackHost(host) || v.o.Client.AllowInsecure {
		return skipped("%s vouches for no name", host)
	}
	var bad []string
	for _, space := range v.catalog.Namespaces() {
		if !v.sameSite(space, host) {
			bad = append(bad, fmt.Sprintf("%s is not of %s", space, host))
		}
	}
	return offenders(bad)
}

func (v *visit) intentNames(context.Context) finding {
	var bad []string
	v.written(func(name string, m map[string]any) {
		if notText(m["intent_name"]) && notText(m["name"]) {
			bad = append(bad, name+" has no intent_name")
		}
		if notText(m["description"]) {
			bad = append(bad, name+" has no description")
		}
	})
	return offenders(bad)
}

func (v *visit) parameterForm(context.Context) finding {
	bad := v.problems("parameters")
	v.written(func(name string, m map[string]any) {
		for _, member := range []string{"input_parameters", "output_parameters"} {
			if _, isMap := m[member].(map[string]any); isMap {
				bad = append(bad, name+": "+member+" is a map")
			}
		}
	})
	return offenders(bad)
}

// knownTypes are those of UIM core 2.3, and integer, which its examples use.
var knownTypes = []string{"string", "number", "integer", "boolean", "array", "object", "null", "any"}

func (v *visit) parameterTypes(context.Context) finding {
	var bad []string
	v.written(func(name string, m map[string]any) {
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
					if !typed(p) {
						bad = append(bad, at+" has no type")
					}
				}
			}
		}
	})
	return offenders(append(bad, v.problems("unknown-type")...))
}

// typed reports whether keywords of JSON Schema say what a parameter without a type may be.
func typed(p map[string]any) bool {
	constraints, _ := p["constraints"].(map[string]any)
	for _, keyword := range []string{"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"} {
		if keyword != "type" && p[keyword] != nil || constraints[keyword] != nil {
			return true
		}
	}
	return false
}

func (v *visit) parameterSchemas(context.Context) finding {
	return offenders(v.problems("schema", "pattern", "remote-ref", "unknown-keyword", "unknown-format"))
}

func (v *visit) parameterDefaults(context.Context) finding { return offenders(v.problems("default")) }

func (v *visit) parameterDescribed(context.Context) finding {
	var none []string
	for _, in := range v.catalog.Intents() {
		for _, p := range in.Inputs {
			if strings.TrimSpace(p.Description) == "" {
				none = append(none, in.UID.String()+" "+p.Name)
			}
		}
	}
	if len(none) > 0 {
		return missing("%s", several(none))
	}
	return good
}

func (v *visit) intentOutputs(context.Context) finding {
	var none []string
	v.written(func(name string, m map[string]any) {
		if m["output_parameters"] == nil && m["retired"] != true {
			none = append(none, name)
		}
	})
	if len(none) > 0 {
		return missing("%s", several(none))
	}
	return good
}

func (v *visit) intentEndpoint(context.Context) finding {
	bad := v.problems("endpoint")
	for _, in := range v.catalog.Intents() {
		switch {
		case in.Endpoint == nil && v.catalog.Execute == "":
			bad = append(bad, in.UID.String()+" has no endpoint, and there is no uim-api-execute")
		case in.Endpoint == nil:
		default:
			if _, ok := v.address(strings.NewReplacer("{", "", "}", "").Replace(in.Endpoint.URL)); !ok {
				bad = append(bad, in.UID.String()+": the endpoint is not https")
			}
		}
	}
	return offenders(bad)
}
