// Package change compares two versions of an intent as members of agents.json, and reports which differences break agents that call the
// intent as the old version describes it.
package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// maxReasons is the maximum number of reasons that Breaking returns.
const maxReasons = 20

// Breaking returns the reasons why calls that the version old permits fail under the version next, or why they lack an output that old
// promises. It compares the parameters and the outputs. A schema with keywords that Breaking cannot compare, such as anyOf, counts as
// breaking if these keywords differ. The result is empty if agents need not change, and has at most 20 reasons.
func Breaking(old, next map[string]any) []string {
	c := &comparison{}
	if old, next = normal(old), normal(next); old == nil || next == nil {
		return []string{"the two versions cannot be compared"}
	}
	c.inputs(parameters(old["input_parameters"]), parameters(next["input_parameters"]))
	c.outputs(parameters(old["output_parameters"]), parameters(next["output_parameters"]))
	if len(c.reasons) > maxReasons {
		c.reasons = append(c.reasons[:maxReasons-1], fmt.Sprintf("and %d more", len(c.reasons)-maxReasons+1))
	}
	return c.reasons
}

// normal returns a copy of a tree in which equal numbers have one Go type, or nil if the tree cannot be encoded.
func normal(tree map[string]any) map[string]any {
	data, err := json.Marshal(tree)
	if err != nil {
		return nil
	}
	out, err := strictjson.DecodeObject(data)
	if err != nil {
		return nil
	}
	return out
}

// parameters returns parameters, which may be written as a list or as a map, by their names.
func parameters(v any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, p := range read.List(v) {
		if name := read.Text(read.Object(p)["name"]); name != "" {
			out[name] = read.Object(p)
		}
	}
	for name, p := range read.Object(v) {
		if m := read.Object(p); m != nil {
			out[name] = m
		}
	}
	return out
}

type comparison struct{ reasons []string }

func (c *comparison) add(format string, args ...any) {
	c.reasons = append(c.reasons, fmt.Sprintf(format, args...))
}

func (c *comparison) inputs(old, next map[string]map[string]any) {
	renamed := renames(old, next)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		switch to := next[name]; {
		case to != nil:
			if needs(to) && !needs(old[name]) {
				c.add("the parameter %s is now required", read.Excerpt(name))
			}
			c.narrower("the parameter "+read.Excerpt(name), old[name], to)
		case renamed[name] != "":
			c.add("the parameter %s is renamed to %s", read.Excerpt(name), read.Excerpt(renamed[name]))
		default:
			c.add("the parameter %s is gone", read.Excerpt(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		if old[name] == nil && needs(next[name]) && !slices.Contains(slices.Collect(maps.Values(renamed)), name) {
			c.add("the new parameter %s is required", read.Excerpt(name))
		}
	}
}

// needs reports whether a call must contain the parameter.
func needs(p map[string]any) bool {
	_, set := p["default"]
	return read.Flag(p["required"]) && !set
}

// renames finds a renamed parameter: exactly one parameter is gone, exactly one is new, and both have the same schema.
func renames(old, next map[string]map[string]any) map[string]string {
	var gone, fresh []string
	for name := range old {
		if next[name] == nil {
			gone = append(gone, name)
		}
	}
	for name := range next {
		if old[name] == nil {
			fresh = append(fresh, name)
		}
	}
	if len(gone) != 1 || len(fresh) != 1 {
		return nil
	}
	without := func(p map[string]any) map[string]any {
		out := maps.Clone(p)
		for _, name := range append([]string{"name"}, texts...) {
			delete(out, name)
		}
		return out
	}
	if !reflect.DeepEqual(without(old[gone[0]]), without(next[fresh[0]])) {
		return nil
	}
	return map[string]string{gone[0]: fresh[0]}
}

func (c *comparison) outputs(old, next map[string]map[string]any) {
	if len(old) > 0 && len(next) == 0 {
		return // without declared outputs, the gateway passes on the whole response
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		to := next[name]
		switch {
		case to == nil:
			c.add("the output %s is gone", read.Excerpt(name))
		case read.Flag(old[name]["required"]) && !read.Flag(to["required"]):
			c.add("the output %s is no longer always present", read.Excerpt(name))
		case !includes(kinds(old[name]["type"]), kinds(to["type"])):
			c.add("the output %s has the type %s instead of %s", read.Excerpt(name), strings.Join(kinds(to["type"]), " or "),
				strings.Join(kinds(old[name]["type"]), " or "))
		}
	}
}
