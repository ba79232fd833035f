package schema

import (
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A check is a compiled schema. This package evaluates values itself and counts its steps, because no JSON Schema library can be
// interrupted. The library santhosh-tekuri/jsonschema is the reference for validity: tests compare both implementations, and the library
// checks the operator's schemas (reference.go).
type check struct {
	never    bool // the schema false
	nullable bool // anyOf: [this, null]
	plain    bool // combines no schemas, so values may be converted
	bare     bool // restricts at most the type
	anything bool // accepts every value

	doc   map[string]any // the schema; provides the limits in messages
	kinds kind           // the permitted types; 0 means any
	cost  int            // the steps that do not depend on the value

	*identity
	*bounds
	*combination

	items      *check
	properties map[string]*check
	additional *check
	required   []string
	flags      map[string]uint64 // one bit for each of the first maxFlags names of required
	known      []string          // the names of properties, sorted
	closed     bool              // additionalProperties is false
	open       bool              // additionalProperties is true
}

// A combination holds the keywords that apply several schemas to a value, or choose among schemas.
type combination struct {
	ref, not, when, then, otherwise *check
	all, any, one                   []*check
	prefix                          []*check // prefixItems
	contains                        *check
	minContains, maxContains        int // maxContains is -1 if there is no bound
	patterns                        []patternCheck
	names                           *check // propertyNames
	dependent                       []namedCheck

	unevaluatedItems, unevaluatedProperties *check
}

type namedCheck struct {
	name  string
	check *check
}

type patternCheck struct {
	*pattern
	check *check
}

var errReference = errors.New("a $ref points to a schema that does not exist")

// A compiler compiles the schema of one parameter, in the normal form that a walker returned.
type compiler struct {
	root      any
	made      map[string]*check // by pointer; used only if the parameter has a $ref
	referring bool
	tracking  bool // a keyword depends on which items or properties other keywords have evaluated
	err       error
}

// compile compiles a schema in normal form. referring must be true if the schema contains a $ref. tracking is true if the Report with which
// values are validated must have tracking set.
func compile(schema any, referring bool) (out *check, tracking bool, err error) {
	c := compiler{root: schema, referring: referring, made: map[string]*check{}}
	out = c.check(schema, "")
	return out, c.tracking, c.err
}

func (c *compiler) check(schema any, at string) *check {
	m, ok := schema.(map[string]any)
	if !ok {
		return &check{never: schema == false, anything: schema != false}
	}
	if c.referring {
		if made, ok := c.made[at]; ok {
			return made
		}
	} else if inner, i, ok := Nullable(m); ok {
		out := *c.check(inner, c.below(at, "anyOf", strconv.Itoa(i)))
		out.nullable = true
		return &out
	}
	out := &check{doc: m, plain: !c.referring, cost: stepsOfCheck}
	if c.referring {
		c.made[at] = out
	}
	out.kinds = kindsNamed(m["type"])
	out.identity = newIdentity(m)
	out.bounds = c.newBounds(m)
	out.combination = c.combine(m, at)
	out.plain = out.plain && out.combination == nil
	c.children(out, m, at)
	out.required = texts(m["required"])
	out.flags = make(map[string]uint64, len(out.required))
	for i, name := range out.required {
		out.flags[name] = 1 << i
	}
	out.bare = out.bounds == nil && out.identity == nil && out.combination == nil && out.items == nil && out.properties == nil &&
		out.additional == nil && len(out.required) == 0 && !out.closed
	out.anything = out.bare && out.kinds == 0
	out.cost += len(out.required)
	if out.bounds != nil {
		for _, d := range out.dependentRequired {
			out.cost += 1 + len(d.names)
		}
	}
	return out
}

// below returns the pointer to a schema inside the schema whose pointer is at. Only references need pointers, so it returns "" if the
// document has none.
func (c *compiler) below(at string, path ...string) string {
	if !c.referring {
		return ""
	}
	return at + finding.Pointer(path...)
}

func (c *compiler) sub(m map[string]any, at, name string) *check {
	schema, ok := m[name]
	if !ok {
		return nil
	}
	return c.check(schema, c.below(at, name))
}

func (c *compiler) list(m map[string]any, at, name string) []*check {
	list, _ := m[name].([]any)
	if list == nil {
		return nil
	}
	out := make([]*check, len(list))
	for i, sub := range list {
		out[i] = c.check(sub, c.below(at, name, strconv.Itoa(i)))
	}
	return out
}

func (c *compiler) children(out *check, m map[string]any, at string) {
	out.items = c.sub(m, at, "items")
	if properties, ok := m["properties"].(map[string]any); ok {
		out.properties = make(map[string]*check, len(properties))
		out.known = slices.Sorted(maps.Keys(properties))
		for _, name := range out.known {
			out.properties[name] = c.check(properties[name], c.below(at, "properties", name))
		}
	}
	switch sub := m["additionalProperties"].(type) {
	case bool:
		out.closed, out.open = !sub, sub
	case map[string]any:
		out.additional = c.sub(m, at, "additionalProperties")
	}
}

// combining lists the keywords that require a combination.
var combining = []string{
	"$ref", "not", "if", "allOf", "anyOf", "oneOf", "prefixItems", "contains", "patternProperties", "propertyNames", "dependentSchemas",
	"unevaluatedItems", "unevaluatedProperties",
}

func (c *compiler) combine(m map[string]any, at string) *combination {
	if !slices.ContainsFunc(combining, func(name string) bool { _, ok := m[name]; return ok }) {
		return nil
	}
	out := &combination{
		not: c.sub(m, at, "not"), when: c.sub(m, at, "if"), then: c.sub(m, at, "then"), otherwise: c.sub(m, at, "else"),
		all: c.list(m, at, "allOf"), any: c.list(m, at, "anyOf"), one: c.list(m, at, "oneOf"), prefix: c.list(m, at, "prefixItems"),
		contains: c.sub(m, at, "contains"), minContains: 1, maxContains: -1, names: c.sub(m, at, "propertyNames"),
		unevaluatedItems: c.sub(m, at, "unevaluatedItems"), unevaluatedProperties: c.sub(m, at, "unevaluatedProperties"),
	}
	c.tracking = c.tracking || out.unevaluatedItems != nil || out.unevaluatedProperties != nil
	if n := countOf(m, "minContains"); n >= 0 {
		out.minContains = n
	}
	out.maxContains = countOf(m, "maxContains")
	if ref, ok := m["$ref"].(string); ok {
		out.ref = c.reference(ref)
	}
	if named, ok := m["patternProperties"].(map[string]any); ok {
		for _, text := range slices.Sorted(maps.Keys(named)) {
			sub := c.check(named[text], c.below(at, "patternProperties", text))
			out.patterns = append(out.patterns, patternCheck{c.pattern(text), sub})
		}
	}
	if named, ok := m["dependentSchemas"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(named)) {
			out.dependent = append(out.dependent, namedCheck{name, c.check(named[name], c.below(at, "dependentSchemas", name))})
		}
	}
	return out
}

func (c *compiler) reference(ref string) *check {
	target, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err == nil {
		if schema, ok := strictjson.Lookup(c.root, target); ok {
			return c.check(schema, target)
		}
	}
	c.err = errReference // unreachable: settle has checked all references
	return &check{never: true}
}

func (c *compiler) pattern(text string) *pattern {
	p, err := compilePattern(text)
	if err != nil {
		c.err = err
	}
	return p
}

// Nullable recognizes a schema for a value or null, in the form that generators for typed languages write: anyOf with the schema inner,
// at index i, and {"type": "null"}, without other assertions.
func Nullable(m map[string]any) (inner any, i int, ok bool) {
	list, ok := m["anyOf"].([]any)
	if !ok || len(list) != 2 {
		return nil, 0, false
	}
	for name := range m {
		if name != "anyOf" && !annotations[name] {
			return nil, 0, false
		}
	}
	for i, sub := range list {
		if s, ok := sub.(map[string]any); ok && s["type"] == "null" && len(only(s, func(n string) bool { return !annotations[n] })) == 1 {
			return list[1-i], 1 - i, true
		}
	}
	return nil, 0, false
}

func only(m map[string]any, keep func(name string) bool) map[string]any {
	out := map[string]any{}
	for name, v := range m {
		if keep(name) {
			out[name] = v
		}
	}
	return out
}

func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, 0, len(list))
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// countOf returns the value of a keyword that is a count, or -1 if the schema does not have the keyword or the value is not an integer.
func countOf(m map[string]any, name string) int {
	n, ok := rational(m, name)
	if !ok || !n.IsInt() || !n.Num().IsInt64() {
		return -1
	}
	return int(n.Num().Int64())
}

func rational(m map[string]any, name string) (*big.Rat, bool) {
	n, ok := m[name].(json.Number)
	if !ok {
		return nil, false
	}
	out, ok := new(big.Rat).SetString(string(n))
	return out, ok
}
