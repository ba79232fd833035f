package intents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// times returns a list with n copies of value.
func times(n int, value string) string { return "[" + strings.Repeat(value+",", n-1) + value + "]" }

// numbered returns a list of n values, each with its own number.
func numbered(n int, form string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(form, i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// A dearValue would take a checker without a budget a second or more. It has the largest size that an agent may send.
type dearValue struct{ name, schema, value string }

func dearValues() []dearValue {
	enum := numbered(2000, "%d")
	return []dearValue{
		{"numbers of a list", `"type": "array", "items": {"type": "integer", "minimum": 1}`, times(400_000, "1")},
		{"fractions", `"type": "array", "items": {"multipleOf": 0.01}`, times(170_000, "1e400")},
		{"long divisors", `"type": "array", "items": {"multipleOf": 1e-400}`, times(2000, strings.Repeat("7", 390)+"e400")},
		{
			"objects", `"type": "array", "items": {"properties": {"a": {"type": "integer"}}, "additionalProperties": false}`,
			times(80_000, `{"a":1}`),
		},
		{"an enum", `"type": "array", "items": {"enum": ` + enum + `}`, times(200_000, "1999")},
		{
			"an enum among alternatives", `"type": "array", "items": {"oneOf": [{"enum": ` + enum + `}, {"type": "string"}]}`,
			times(200_000, "1999"),
		},
		{
			"alternatives", `"anyOf": [{"items": {"required": ["q"], "type": "object"}}, {"items": {"maxProperties": 1}}]`,
			times(80_000, `{"a":1}`),
		},
		{"unique items", `"type": "array", "uniqueItems": true`, numbered(110_000, `"%d"`)},
		{"unique objects", `"type": "array", "uniqueItems": true`, numbered(50_000, `{"a":%d}`)},
		{
			"alternatives of references", `"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"type": "string"}, {"items": {"$ref": "#/$defs/a"}}]}}`,
			times(2500, strings.Repeat("[", 60)+strings.Repeat("]", 60)),
		},
		{"an expensive pattern", `"type": "array", "items": {"pattern": "^(.?){500}x"}`, times(1000, `"`+strings.Repeat("a", 1000)+`"`)},
		{
			"a pattern among alternatives", `"anyOf": [{"items": {"pattern": "^(.?){500}x"}}, {"type": "array"}]`,
			times(1000, `"`+strings.Repeat("a", 1000)+`"`),
		},
		{"regular expressions", `"type": "array", "items": {"format": "regex"}`, times(900, `"(?i)`+strings.Repeat(`\\PL`, 240)+`"`)},
		{"unevaluated members", `"unevaluatedProperties": {"type": "integer"}`, "{" + strings.Trim(numbered(90_000, `"name%d":1`), "[]") + "}"},
		{"unevaluated items", `"contains": {"const": 1}, "unevaluatedItems": {"type": "string"}`, times(400_000, "1")},
	}
}

// The work of a call is bounded. If a call exceeds the bound, one clear violation rejects it, whatever the schema and the value.
func TestWorkOfOneCallIsBounded(t *testing.T) {
	for _, tt := range dearValues() {
		i := with(t, `[{"name": "a", `+tt.schema+`}]`)
		filled, violations := i.Validate(object(t, `{"a": `+tt.value+`}`))
		if filled != nil || len(violations) == 0 {
			t.Fatalf("%s: taken", tt.name)
		}
		last := violations[len(violations)-1]
		if last.Pointer != "/a" || last.Keyword != "work" || last.Reason != reason.ParameterTooLong ||
			!strings.Contains(last.Message, "fewer or shorter values") {
			t.Errorf("%s: %v", tt.name, last)
		}
	}
	many := make(map[string]any, 200_000)
	for n := range 200_000 {
		many[fmt.Sprint("unknown", n)] = true
	}
	_, violations := with(t, `[{"name": "a", "type": "any"}]`).Validate(many)
	if len(violations) != 1 || violations[0].Keyword != "work" || violations[0].Pointer != "" {
		t.Errorf("unknown names: %v; want length 1, [0].Keyword %q and [0].Pointer empty", violations, "work")
	}
	// The parameters of a call share one budget.
	if _, violations := with(t, `[{"name": "a", "type": "any"}, {"name": "b", "type": "any"}]`).Validate(strictjson.Object{
		"a": make([]any, schema.CallSteps/2), "b": make([]any, schema.CallSteps/2),
	}); len(violations) != 1 || violations[0].Pointer != "/b" {
		t.Errorf("got %v; want length 1 and [0].Pointer %q", violations, "/b")
	}
}

// Typical calls use a small part of the budget.
func TestWorkOfTypicalCalls(t *testing.T) {
	order := `{"sku":"a-17","count":2,"price":"19.99","ship":{"kind":"parcel","to":"Main Street 1"},"when":"2024-02-29T12:00:00Z"}`
	for _, tt := range []dearValue{
		{"numbers", `"type": "array", "items": {"type": "number", "minimum": -1, "maximum": 1}`, times(20_000, "0.1234567890")},
		{"an enum", `"type": "array", "items": {"type": "integer", "enum": ` + numbered(2000, "%d") + `}`, times(50_000, "1999")},
		{"unique items", `"type": "array", "uniqueItems": true, "items": {"type": "string"}`, numbered(30_000, `"item-%d"`)},
		{"a text", `"type": "string", "pattern": "^[^<>]{1,1000}$"`, `"` + strings.Repeat("a", 1000) + `"`},
		{"names", `"type": "array", "items": {"type": "string", "pattern": "^[a-z0-9-]{1,64}$"}`, times(10_000, `"hello-world-17"`)},
		{"a long text", `"type": "string", "maxLength": 1000000, "not": {"pattern": "[<>]"}`, `"` + strings.Repeat("a", 250_000) + `"`},
		{"a file", `"type": "string", "format": "byte"`, `"` + strings.Repeat("YWFh", 180_000) + `"`},
		{
			"orders", `"type": "array", "items": {"type": "object", "required": ["sku"], "additionalProperties": false, "properties": {` +
				`"sku": {"type": "string", "pattern": "^[a-z]-[0-9]+$"}, "count": {"type": "integer", "minimum": 1}, ` +
				`"price": {"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^[0-9]+\\.[0-9]{2}$"}]}, ` +
				`"when": {"type": "string", "format": "date-time"}, "ship": {"oneOf": [` +
				`{"type": "object", "properties": {"kind": {"const": "pickup"}}, "required": ["kind"]}, ` +
				`{"type": "object", "properties": {"kind": {"const": "parcel"}, "to": {"type": "string"}}, "required": ["kind", "to"]}]}}}`,
			times(1000, order),
		},
	} {
		i := with(t, `[{"name": "a", `+tt.schema+`}]`)
		if _, violations := i.Validate(object(t, `{"a": `+tt.value+`}`)); violations != nil {
			t.Errorf("%s: %v", tt.name, violations[0])
		}
	}
}

func BenchmarkValidateDear(b *testing.B) {
	for _, tt := range dearValues() {
		c, list := intents.Parse([]byte(one(`"input_parameters": [{"name": "a", `+tt.schema+`}]`)), intents.Options{Strict: true})
		if c == nil {
			b.Fatal(list)
		}
		value, err := strictjson.DecodeObject([]byte(`{"a": ` + tt.value + `}`))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strings.ReplaceAll(tt.name, " ", "-"), func(b *testing.B) {
			for b.Loop() {
				c.Intents()[0].Validate(value)
			}
		})
	}
}
