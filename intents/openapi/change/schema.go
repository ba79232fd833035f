package change

import (
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/read"
)

// maxDepth is the depth of schemas that are compared keyword by keyword. Deeper parts must be equal.
const maxDepth = 12

// texts are keywords that do not affect which values are valid.
var texts = []string{
	"description", "title", "examples", "example", "default", "deprecated", "$comment", "readOnly", "writeOnly", "required",
}

// upper and lower are keywords that limit a value from above and from below.
var (
	upper = []string{"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}
	lower = []string{"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
)

// narrower adds a reason for each keyword of next that rejects values that old accepts. what names the value.
func (c *comparison) narrower(what string, old, next map[string]any) { c.schema(what, old, next, 0) }

func (c *comparison) schema(what string, old, next map[string]any, depth int) {
	switch {
	case depth > maxDepth && !reflect.DeepEqual(old, next):
		c.add("the schema of %s differs", what)
		return
	case depth > maxDepth:
		return
	}
	if !includes(kinds(next["type"]), kinds(old["type"])) {
		c.add("%s has the type %s instead of %s", what, strings.Join(kinds(next["type"]), " or "), strings.Join(kinds(old["type"]), " or "))
	}
	for _, keyword := range upper {
		c.bound(what, keyword, old, next, 1)
	}
	for _, keyword := range lower {
		c.bound(what, keyword, old, next, -1)
	}
	c.values(what, old, next)
	c.members(what, old, next, depth)
	if to := read.Object(next["items"]); to != nil {
		c.schema("the items of "+what, read.Object(old["items"]), to, depth+1)
	}
	for _, keyword := range slices.Sorted(maps.Keys(next)) {
		if compared[keyword] || reflect.DeepEqual(old[keyword], next[keyword]) {
			continue
		}
		c.add("%s has another %s", what, read.Excerpt(keyword))
	}
}

// compared holds the keywords that schema compares in detail, and those that do not limit values.
var compared = func() map[string]bool {
	out := map[string]bool{
		"name": true, "type": true, "enum": true, "const": true, "properties": true, "items": true, "additionalProperties": true,
	}
	for _, keyword := range slices.Concat(texts, upper, lower) {
		out[keyword] = true
	}
	return out
}()

// bound adds a reason if the limit of next is stricter. sign is 1 for upper limits and -1 for lower limits.
func (c *comparison) bound(what, keyword string, old, next map[string]any, sign int) {
	to, limited := number(next[keyword])
	if !limited {
		return
	}
	was, had := number(old[keyword])
	switch {
	case !had && keyword[:3] == "min" && to.Sign() <= 0 && keyword != "minimum": // a length or a number of items is never below 0
	case !had:
		c.add("%s has the new limit %s %s", what, keyword, to.RatString())
	case to.Cmp(was)*sign < 0:
		c.add("%s has %s %s instead of %s", what, keyword, to.RatString(), was.RatString())
	}
}

// number returns a number. Its exponent is bounded, because package strictjson has read it.
func number(v any) (*big.Rat, bool) {
	n, is := v.(json.Number)
	if !is {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

// values compares enum and const.
func (c *comparison) values(what string, old, next map[string]any) {
	allowed := func(m map[string]any) (list []any, limited bool) {
		if v, is := m["const"]; is {
			return []any{v}, true
		}
		list, limited = m["enum"].([]any)
		return list, limited
	}
	to, limited := allowed(next)
	was, had := allowed(old)
	switch {
	case !limited:
	case !had:
		c.add("%s permits only certain values", what)
	default:
		for _, v := range was {
			if !slices.ContainsFunc(to, func(w any) bool { return reflect.DeepEqual(v, w) }) {
				c.add("%s no longer permits the value %s", what, read.Excerpt(textOf(v)))
			}
		}
	}
}

func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(data)
}

// members compares the members of objects.
func (c *comparison) members(what string, old, next map[string]any, depth int) {
	was, to := read.Object(old["properties"]), read.Object(next["properties"])
	closed := next["additionalProperties"] == false
	for _, name := range slices.Sorted(maps.Keys(was)) {
		switch sub := read.Object(to[name]); {
		case to[name] == nil && closed:
			c.add("%s no longer has the member %s", what, read.Excerpt(name))
		case sub != nil:
			c.schema("the member "+read.Excerpt(name)+" of "+what, read.Object(was[name]), sub, depth+1)
		}
	}
	if list, is := next["required"].([]any); is {
		for _, name := range list {
			if !slices.Contains(read.List(old["required"]), name) {
				c.add("%s: the member %s is now required", what, read.Excerpt(read.Text(name)))
			}
		}
	}
	if closed && old["additionalProperties"] != false && (len(was) > 0 || kindsHave(old, "object")) {
		c.add("%s no longer permits other members", what)
	}
}

func kindsHave(m map[string]any, kind string) bool { return slices.Contains(kinds(m["type"]), kind) }

// anything is the list of types without a type keyword.
var anything = []string{"any"}

// kinds returns the types that a type keyword permits.
func kinds(v any) []string {
	if s := read.Text(v); s != "" {
		return []string{s}
	}
	var out []string
	for _, one := range read.List(v) {
		out = append(out, read.Text(one))
	}
	if len(out) == 0 {
		return anything
	}
	return out
}

// includes reports whether wide permits every type of narrow.
func includes(wide, narrow []string) bool {
	if slices.Contains(wide, "any") {
		return true
	}
	for _, kind := range narrow {
		if !slices.Contains(wide, kind) && (kind != "integer" || !slices.Contains(wide, "number")) {
			return false
		}
	}
	return true
}
