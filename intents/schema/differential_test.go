package schema

import (
	"encoding/json"
	"errors"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// verdict returns our report on a value.
func (c *check) verdict(value any, tracking bool) *Report {
	r := &Report{most: 64, meter: Meter{left: CallSteps}, tracking: tracking}
	c.validate(value, nil, r)
	return r
}

// FuzzWalkAgreesWithTheLibrary checks that our walk and the library give the same result for the whole schema.
func FuzzWalkAgreesWithTheLibrary(f *testing.F) {
	for _, s := range [][2]string{
		{`{"type": "array", "items": {"type": "object", "properties": {"a": {"enum": [1, "x", [1.0], {"b": null}]}}, "required": ["a"], ` +
			`"additionalProperties": {"const": 2e1}}}`, `[{"a": [1], "c": 20}]`},
		{`{"anyOf": [{"type": "array", "uniqueItems": true, "items": {"multipleOf": 0.01}}, {"type": "null"}]}`, `[1, 1.0]`},
		{`{"type": ["integer", "null"], "minimum": -1.5, "exclusiveMaximum": 1e2, "uniqueItems": true, "minLength": 2}`, `99.0`},
		{
			`{"properties": {"a": false, "b": true}, "additionalProperties": false, "minProperties": 1, "dependentRequired": {"b": ["a"]}}`,
			`{"b": 1}`,
		},
		{`{"$ref": "#/$defs/n", "$defs": {"n": {"items": {"$ref": "#/$defs/n"}, "maxItems": 2, "not": {"type": "string"}}}}`, `[[[], [1]], "x"]`},
		{`{"enum": [0, -0.0, 1e-2, "1e-2", true, null, [], {}], "maxItems": 0}`, `0.010`},
	} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, schemaText, valueText []byte) {
		schema, err := strictjson.Decode(schemaText)
		if err != nil {
			return
		}
		value, err := strictjson.Decode(valueText)
		if err != nil || treeFault(value, 1, 0, &Meter{left: CallSteps}) != "" {
			return
		}
		w := &walker{List: &finding.List{Strict: true}, schemas: map[string]bool{}, refs: map[string]string{}, parents: map[string]string{}}
		plain, ok := w.normalize(schema, "", "", 0).(map[string]any)
		w.settle(plain)
		if !ok || w.Problems.Failed() {
			return
		}
		ours, tracking, err := compile(plain, len(w.refs) > 0)
		if err != nil {
			t.Fatalf("%s: %v", schemaText, err)
		}
		text, err := json.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := reference(plain)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r := ours.verdict(value, tracking)
		if r.meter.Exhausted() {
			return
		}
		invalid := theirs.Validate(value)
		if _, ok := errors.AsType[*jsonschema.ValidationError](invalid); invalid != nil && !ok {
			t.Fatalf("%s: the library rejects the schema: %v", text, invalid)
		}
		if (len(r.faults) > 0) != (invalid != nil) {
			t.Fatalf("%s with %s: our violations are %v, the library's %v", text, valueText, r.Violations(), invalid)
		}
	})
}

// Two numbers have the same canonical form if and only if they are equal.
func FuzzCanonicalNumber(f *testing.F) {
	f.Add("1.0", "10e-1")
	f.Add("-0", "0E+5")
	f.Add("100", "1e2")
	f.Add("0.001", "1E-3")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !isNumber(a) || !isNumber(b) {
			return
		}
		if !json.Valid([]byte(a)) {
			t.Fatalf("%q is not a JSON number", a)
		}
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if (x.Cmp(y) == 0) != (canonicalNumber(a) == canonicalNumber(b)) {
			t.Fatalf("%s is %s, %s is %s", a, canonicalNumber(a), b, canonicalNumber(b))
		}
	})
}

// A generator generates random schemas and values.
type generator struct{ *rand.Rand }

func (d generator) value(depth int) any {
	switch n := d.IntN(9); {
	case n < 2:
		return json.Number([]string{"0", "1", "1.0", "2", "-3.5", "-0.5", "0.5", "10e-1", "1e2", "12345678901234567890"}[d.IntN(10)])
	case n < 4:
		return []string{"", "a", "ab", "abc", "2024-01-01", "é"}[d.IntN(6)]
	case n == 4:
		return []any{nil, true, false}[d.IntN(3)]
	case depth == 0:
		return nil
	case n < 7:
		list := make([]any, d.IntN(4))
		for i := range list {
			list[i] = d.value(depth - 1)
		}
		return list
	default:
		m := map[string]any{}
		for range d.IntN(4) {
			m[[]string{"a", "b", "c"}[d.IntN(3)]] = d.value(depth - 1)
		}
		return m
	}
}

func (d generator) schema(depth int) any {
	if depth == 0 && d.IntN(8) == 0 {
		return d.IntN(2) == 0
	}
	names := []string{
		"type", "type", "enum", "const", "minimum", "maxLength", "multipleOf", "minItems", "maxProperties", "uniqueItems", "required", "pattern",
		"format", "dependentRequired",
		"items", "items", "properties", "properties", "additionalProperties", "anyOf", "allOf", "oneOf", "not", "prefixItems",
		"contains", "patternProperties", "unevaluatedProperties", "nullable", "$ref",
		"unevaluatedItems", "if", "then", "else", "dependentSchemas", "propertyNames", "minContains", "maxContains",
		"exclusiveMinimum", "exclusiveMaximum", "maximum", "minLength", "maxItems", "minProperties", "anyOf", "oneOf", "$defs",
	}
	m := map[string]any{}
	for range 1 + d.IntN(3) {
		sub := func() any { return d.schema(max(depth-1, 0)) }
		name := names[d.IntN(len(names))]
		if depth == 0 && keywords[name] >= schemaValue && keywords[name] <= patternsValue || name == "$ref" && depth < 3 {
			continue
		}
		m[name] = map[string]func() any{
			"type": func() any {
				return []any{"string", "integer", "number", "array", "object", "null", []any{"boolean", "object"}}[d.IntN(7)]
			},
			"enum":              func() any { return []any{d.value(2), d.value(1), d.value(0)} },
			"const":             func() any { return d.value(1) },
			"minimum":           func() any { return json.Number("1") },
			"maxLength":         func() any { return json.Number("2") },
			"multipleOf":        func() any { return json.Number("0.5") },
			"minItems":          func() any { return json.Number("1") },
			"maxProperties":     func() any { return json.Number("1") },
			"uniqueItems":       func() any { return true },
			"nullable":          func() any { return true },
			"required":          func() any { return []any{"a"} },
			"pattern":           func() any { return "^a" },
			"format":            func() any { return "date" },
			"dependentRequired": func() any { return map[string]any{"a": []any{"b"}} },
			"items":             sub, "additionalProperties": sub, "not": sub, "contains": sub, "unevaluatedProperties": sub,
			"properties":        func() any { return map[string]any{"a": sub(), "b": sub()} },
			"patternProperties": func() any { return map[string]any{"^a": sub()} },
			"anyOf":             func() any { return []any{sub(), []any{sub(), map[string]any{"type": "null"}}[d.IntN(2)]} },
			"allOf":             func() any { return []any{sub()} },
			"oneOf":             func() any { return []any{sub(), sub()} },
			"prefixItems":       func() any { return []any{sub()} },
			"$ref":              func() any { return []any{"#", "#/$defs/d", "#/properties/a"}[d.IntN(3)] },
			"$defs":             func() any { return map[string]any{"d": sub()} },
			"unevaluatedItems":  sub, "if": sub, "then": sub, "else": sub, "propertyNames": sub,
			"dependentSchemas": func() any { return map[string]any{"b": sub()} },
			"minContains":      func() any { return json.Number([]string{"0", "1", "2"}[d.IntN(3)]) },
			"maxContains":      func() any { return json.Number("1") },
			"exclusiveMinimum": func() any { return json.Number("-3.5") },
			"exclusiveMaximum": func() any { return json.Number("2") },
			"maximum":          func() any { return json.Number("12345678901234567890") },
			"minLength":        func() any { return json.Number("1") },
			"maxItems":         func() any { return json.Number("2") },
			"minProperties":    func() any { return json.Number("1") },
		}[name]()
	}
	return m
}

func TestRandomSchemasAgreeWithLibrary(t *testing.T) {
	d := generator{rand.New(rand.NewPCG(7, 11))}
	compared := 0
	for range randomSchemas {
		w := &walker{List: &finding.List{Strict: true}, schemas: map[string]bool{}, refs: map[string]string{}, parents: map[string]string{}}
		schema := d.schema(3)
		plain, ok := w.normalize(schema, "", "", 0).(map[string]any)
		w.settle(plain)
		if !ok || w.Problems.Failed() {
			continue
		}
		ours, tracking, err := compile(plain, len(w.refs) > 0)
		if err != nil {
			t.Fatalf("%v: %v", schema, err)
		}
		text, err := json.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := reference(plain)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for range 10 {
			value := d.value(3)
			r := ours.verdict(value, tracking)
			if invalid := theirs.Validate(value); (len(r.faults) > 0) != (invalid != nil) {
				t.Fatalf("%s with %v: our violations are %v, the library's %v", text, value, r.Violations(), invalid)
			}
			compared++
		}
	}
	if compared < randomSchemas {
		t.Errorf("only %d comparisons, want at least %v", compared, randomSchemas)
	}
}
