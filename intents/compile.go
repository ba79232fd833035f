package intents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// A check is a compiled schema. The library checks single values, and every subtree that combines schemas (anyOf, $ref,
// …). Plain items, properties, additionalProperties and required are walked here. So a long list of invalid values
// stops at the bound on violations instead of making an error for each, and equal leaves are compiled once for all
// intents.
type check struct {
	never    bool // the schema false
	nullable bool // anyOf: [this, null]

	identity
	compiled  *compiled // what the library checks; nil: every value passes
	walked    bool      // the library descends into the value
	maxValues int       // bound on the values that it is then given
	work      int       // cost of each of them, taken from the budget

	items      *check
	properties map[string]*check
	additional *check
	required   []string
	known      []string // names of properties, where no others are allowed or named ones exist
	closed     bool
}

// schemaURL is the base URL of each schema in the library. Nothing is ever resolved against a urn, and references in it
// stay inside.
const schemaURL = "urn:uimgate:parameter"

// A compiler compiles each different schema once. It is safe for concurrent use.
type compiler struct {
	mu   sync.Mutex
	done map[string]*compiled
}

// A compiled schema is made on first use. A schema that combines others is made at load, so that an error of the
// library appears there. A leaf cannot fail any more: the walker has checked it keyword by keyword, and it contains no
// other schema. It is compiled for the first value only, because the library spends most of its time on validating
// schemas against the meta-schema.
type compiled struct {
	doc      map[string]any // the keywords, as limits in messages
	patterns int            // instructions of all its patterns
	get      func() (*jsonschema.Schema, error)
}

// build compiles a plain schema; work is the result of worst for the whole.
func (c *compiler) build(schema any, work int, whole bool) (*check, error) {
	m, ok := schema.(map[string]any)
	if !ok {
		return &check{never: schema == false}, nil
	}
	if whole || !walkable(m) {
		out, err := c.library(m, work)
		if err == nil && out.compiled != nil {
			_, err = out.compiled.get()
		}
		return out, err
	}
	if inner, ok := nullableOf(m); ok {
		built, err := c.build(inner, work, false)
		if err != nil {
			return nil, err
		}
		copied := *built
		copied.nullable = true
		return &copied, nil
	}
	out, err := c.library(only(m, func(name string) bool { return assertions[name] && !identityKeywords[name] }), work)
	if err != nil {
		return nil, err
	}
	out.walked, out.identity = false, newIdentity(m)
	if err := c.children(out, m, work); err != nil {
		return nil, err
	}
	return out, nil
}

func (c *compiler) children(out *check, m map[string]any, work int) (err error) {
	if sub, ok := m["items"]; ok {
		if out.items, err = c.build(sub, work, false); err != nil {
			return err
		}
	}
	if properties, ok := m["properties"].(map[string]any); ok {
		out.properties = make(map[string]*check, len(properties))
		out.known = slices.Sorted(maps.Keys(properties))
		for _, name := range out.known {
			if out.properties[name], err = c.build(properties[name], work, false); err != nil {
				return err
			}
		}
	}
	switch sub := m["additionalProperties"].(type) {
	case bool:
		out.closed = !sub
	case map[string]any:
		if out.additional, err = c.build(sub, work, false); err != nil {
			return err
		}
	}
	if names, ok := m["required"].([]any); ok {
		for _, name := range names {
			if s, ok := name.(string); ok {
				out.required = append(out.required, s)
			}
		}
	}
	return nil
}

// walkable reports whether every keyword of the schema is walked here, looks at a single value, or asserts nothing.
func walkable(m map[string]any) bool {
	if _, ok := nullableOf(m); ok {
		return true
	}
	for name := range m {
		switch name {
		case "items", "properties", "additionalProperties", "required", "$defs", "definitions":
		default:
			if !assertions[name] && !annotations[name] {
				return false
			}
		}
	}
	return true
}

// nullableOf recognises the schema that generators for typed languages write for a value or null: anyOf of one schema and
// {"type": "null"}, with no other assertion.
func nullableOf(m map[string]any) (inner any, ok bool) {
	list, ok := m["anyOf"].([]any)
	if !ok || len(list) != 2 {
		return nil, false
	}
	for name := range m {
		if name != "anyOf" && !annotations[name] {
			return nil, false
		}
	}
	for i, sub := range list {
		if s, ok := sub.(map[string]any); ok && s["type"] == "null" && len(only(s, func(n string) bool { return !annotations[n] })) == 1 {
			return list[1-i], true
		}
	}
	return nil, false
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

// library compiles m with the library, or returns the equal schema that was compiled before.
func (c *compiler) library(m map[string]any, work int) (*check, error) {
	doc := only(m, func(name string) bool { return !annotations[name] })
	if len(doc) == 0 {
		return &check{}, nil
	}
	key, err := json.Marshal(doc) // sorts members: equal schemas have equal keys
	if err != nil {
		return nil, fmt.Errorf("writing the schema: %w", err)
	}
	c.mu.Lock()
	have, ok := c.done[string(key)]
	if !ok {
		have = &compiled{doc: doc, patterns: instructions(doc), get: sync.OnceValues(func() (*jsonschema.Schema, error) { return compile(key) })}
		c.done[string(key)] = have
	}
	c.mu.Unlock()
	out := &check{compiled: have, walked: true, maxValues: maxWalked, work: max(work, 1)}
	if bytes.Contains(key, []byte(`"uniqueItems":true`)) {
		out.maxValues = min(out.maxValues, maxPairs)
	}
	return out, nil
}

func compile(doc []byte) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.Draft = jsonschema.Draft2020
	compiler.AssertFormat = true
	compiler.Formats = formats
	compiler.LoadURL = func(string) (io.ReadCloser, error) { return nil, errRemote }
	if err := compiler.AddResource(schemaURL, bytes.NewReader(doc)); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	schema, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("compiling the schema: %w", err)
	}
	return schema, nil
}
