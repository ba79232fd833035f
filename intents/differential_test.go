package intents

import (
	"encoding/json"
	"errors"
	"math/big"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Walking a schema ourselves must judge as the library does when it is given the whole.
func FuzzWalkAgreesWithTheLibrary(f *testing.F) {
	for _, s := range [][2]string{
		{`{"type": "array", "items": {"type": "object", "properties": {"a": {"enum": [1, "x", [1.0], {"b": null}]}}, "required": ["a"], "additionalProperties": {"const": 2e1}}}`, `[{"a": [1], "c": 20}]`},
		{`{"anyOf": [{"type": "array", "uniqueItems": true, "items": {"multipleOf": 0.01}}, {"type": "null"}]}`, `[1, 1.0]`},
		{`{"type": ["integer", "null"], "minimum": -1.5, "exclusiveMaximum": 1e2, "uniqueItems": true, "minLength": 2}`, `99.0`},
		{`{"properties": {"a": false, "b": true}, "additionalProperties": false, "minProperties": 1, "dependentRequired": {"b": ["a"]}}`, `{"b": 1}`},
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
		if err != nil || unsound(value, 1, 0) != "" || count(value, 200) > 200 {
			return
		}
		w := &walker{findings: &findings{strict: true}, schemas: map[string]bool{}, refs: map[string]string{}, parents: map[string]string{}}
		plain, ok := w.plain(schema, "", "", 0).(map[string]any)
		work := w.settle(plain)
		if !ok || w.list.Failed() {
			return
		}
		c := &compiler{done: map[string]*compiled{}}
		ours, err := c.build(plain, work, len(w.refs) > 0)
		if err != nil {
			t.Fatalf("%s: %v", schemaText, err)
		}
		text, err := json.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := compile(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r := report{most: MaxViolations}
		ours.validate(value, nil, &r)
		invalid := theirs.Validate(value)
		if bad := new(jsonschema.ValidationError); invalid != nil && !errors.As(invalid, &bad) {
			t.Fatalf("%s: the library gives up: %v", text, invalid)
		}
		if (len(r.violations) > 0) != (invalid != nil) {
			t.Fatalf("%s with %s: we say %v, the library %v", text, valueText, r.violations, invalid)
		}
	})
}

// Two numbers share their plain form exactly if they are equal.
func FuzzPlainNumber(f *testing.F) {
	f.Add("1.0", "10e-1")
	f.Add("-0", "0E+5")
	f.Add("100", "1e2")
	f.Add("0.001", "1E-3")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !isNumber(a) || !isNumber(b) {
			return
		}
		if !json.Valid([]byte(a)) {
			t.Fatalf("%q is no JSON number", a)
		}
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if (x.Cmp(y) == 0) != (plainNumber(a) == plainNumber(b)) {
			t.Fatalf("%s is %s, %s is %s", a, plainNumber(a), b, plainNumber(b))
		}
	})
}
