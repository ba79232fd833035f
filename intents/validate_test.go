package intents_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

func with(t *testing.T, parameters string) *intents.Intent {
	t.Helper()
	return strict(t, one(`"input_parameters": `+parameters)).Intents()[0]
}

func object(t *testing.T, s string) map[string]any {
	t.Helper()
	m, ok := tree(t, s).(map[string]any)
	if !ok {
		t.Fatal("no object")
	}
	return m
}

func TestValidate(t *testing.T) {
	big := "123456789012345678901234567890"
	for _, tt := range []struct{ name, parameter, value, want string }{ // want: pointer keyword reason limit
		{"string", `"type": "string"`, `"a"`, ""},
		{"number for string", `"type": "string"`, `1`, `/a type INVALID_PARAMETER string`},
		{"null for string", `"type": "string", "required": true`, `null`, `/a type INVALID_PARAMETER string`},
		{"null for an optional string", `"type": "string"`, `null`, ""},
		{"null in an optional object", `"type": "object", "properties": {"b": {"type": "string"}}`, `{"b": null}`, `/a/b type INVALID_PARAMETER string`},
		{"any takes null", `"type": "any"`, `null`, ""},
		{"null", `"type": "null"`, `null`, ""},
		{"nullable", `"type": "string", "nullable": true`, `null`, ""},
		{"union", `"type": ["string", "null"]`, `1`, `/a type INVALID_PARAMETER [string null]`},
		{"integer", `"type": "integer"`, `1.0`, ""},
		{"fraction for integer", `"type": "integer"`, `1.5`, `/a type INVALID_PARAMETER integer`},
		{"huge integer", `"type": "integer"`, big, ""},
		{"huge fraction", `"type": "integer"`, big + ".5", `/a type INVALID_PARAMETER integer`},
		{"maximum to the last digit", `"type": "integer", "maximum": ` + big, big[:29] + "1", `/a maximum PARAMETER_OUT_OF_RANGE ` + big},
		{"at the maximum", `"type": "integer", "maximum": ` + big, big, ""},
		{
			"minimum to the last decimal", `"type": "number", "minimum": 0.30000000000000000001`, `0.3`,
			`/a minimum PARAMETER_OUT_OF_RANGE 0.30000000000000000001`,
		},
		{"exclusiveMinimum", `"type": "number", "exclusiveMinimum": 1`, `1.00`, `/a exclusiveMinimum PARAMETER_OUT_OF_RANGE 1`},
		{"multipleOf decimal", `"type": "number", "multipleOf": 0.1`, `0.3`, ""},
		{"not multipleOf", `"type": "number", "multipleOf": 0.1`, `0.30000000000000000001`, `/a multipleOf PARAMETER_OUT_OF_RANGE 0.1`},
		{"largest exponents", `"type": "number", "multipleOf": 1e-400, "maximum": 1e400`, `9e399`, ""},
		{"enum by value", `"type": "number", "enum": [1, ` + big + `]`, `1.0`, ""},
		{"enum to the last digit", `"type": "number", "enum": [1, ` + big + `]`, big[:29] + "1", `/a enum INVALID_ENUM_VALUE [1 ` + big + `]`},
		{"enum", `"type": "string", "enum": ["x", "y"]`, `"z"`, `/a enum INVALID_ENUM_VALUE [x y]`},
		{"const", `"const": 7`, `8`, `/a const INVALID_ENUM_VALUE 7`},
		{"minLength", `"type": "string", "minLength": 2`, `"é"`, `/a minLength PARAMETER_TOO_SHORT 2`},
		{"maxLength counts characters", `"type": "string", "maxLength": 2`, `"éé"`, ""},
		{"maxLength", `"type": "string", "maxLength": 2`, `"abc"`, `/a maxLength PARAMETER_TOO_LONG 2`},
		{"pattern", `"type": "string", "pattern": "^[a-z]+$"`, `"A"`, `/a pattern INVALID_FORMAT ^[a-z]+$`},
		{"pattern at the end", `"type": "string", "pattern": "^[a-z]+$"`, `"a\n"`, `/a pattern INVALID_FORMAT ^[a-z]+$`},
		{"minItems", `"type": "array", "minItems": 1`, `[]`, `/a minItems PARAMETER_TOO_SHORT 1`},
		{"uniqueItems by value", `"type": "array", "uniqueItems": true`, `[1, 1.0]`, `/a uniqueItems INVALID_PARAMETER <nil>`},
		{
			"items", `"type": "array", "items": {"type": "integer"}`, `[1, "x", 2, null]`,
			`/a/1 type INVALID_PARAMETER integer; /a/3 type INVALID_PARAMETER integer`,
		},
		{"items of any", `"type": "array", "items": {"type": "any"}`, `[1, "x", null]`, ""},
		{"member missing", `"type": "object", "properties": {"b/c": {}}, "required": ["b/c"]`, `{}`, `/a/b~1c required MISSING_PARAMETER <nil>`},
		{
			"member unknown", `"type": "object", "properties": {"street": {}}, "additionalProperties": false`, `{"stret": 1}`,
			`/a/stret additionalProperties UNKNOWN_PARAMETER <nil> street [street]`,
		},
		{
			"additionalProperties", `"type": "object", "additionalProperties": {"type": "string"}`, `{"b": 1}`,
			`/a/b type INVALID_PARAMETER string`,
		},
		{
			"unknown beside patterns", `"type": "object", "properties": {"b": {}}, "patternProperties": {"^x": {}}, "additionalProperties": false`,
			`{"b": 1, "x1": 1, "c%41": 1}`, `/a/c%41 additionalProperties UNKNOWN_PARAMETER <nil>  [b]`,
		},
		{
			"unevaluated", `"type": "object", "allOf": [{"properties": {"b": {}}}], "unevaluatedProperties": false`, `{"b": 1, "c": 1}`,
			`/a/c unevaluatedProperties INVALID_PARAMETER <nil>`,
		},
		{"dependentRequired", `"type": "object", "dependentRequired": {"b": ["c"]}`, `{"b": 1}`, `/a dependentRequired MISSING_PARAMETER <nil>`},
		{"false member", `"type": "object", "properties": {"b": false}`, `{"b": 1}`, `/a/b false INVALID_PARAMETER <nil>`},
		{
			"anyOf by type", `"anyOf": [{"type": "string", "maxLength": 2}, {"type": "integer", "maximum": 5}]`, `6`,
			`/a maximum PARAMETER_OUT_OF_RANGE 5`,
		},
		{"anyOf none", `"anyOf": [{"type": "string"}, {"type": "integer"}]`, `true`, `/a anyOf INVALID_PARAMETER <nil>`},
		{"oneOf both", `"oneOf": [{"minimum": 1}, {"minimum": 2}]`, `3`, `/a oneOf INVALID_PARAMETER <nil>`},
		{"not", `"not": {"type": "string"}`, `"x"`, `/a not INVALID_PARAMETER <nil>`},
		{"contains", `"type": "array", "contains": {"type": "string"}`, `[1]`, `/a contains INVALID_PARAMETER <nil>`},
		{"ref", `"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": ` +
			`"integer"}}}}`, `{"next": {"next": {"n": "x"}}}`, `/a/next/next/n type INVALID_PARAMETER integer`},
		{
			"ref to odd names", `"$ref": "#/$defs/a~1b%25c d", "$defs": {"a/b%c d": {"type": "integer"}}`, `"x"`,
			`/a type INVALID_PARAMETER integer`,
		},
		{"format of a number is nothing", `"format": "email"`, `1`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := with(t, `[{"name": "a", `+tt.parameter+`}]`)
			params := object(t, `{"a": `+tt.value+`}`)
			_, violations := i.Validate(params)
			var got []string
			for _, v := range violations {
				line := fmt.Sprintf("%s %s %s %v", v.Pointer, v.Keyword, v.Reason, v.Limit)
				if v.Known != nil {
					line += fmt.Sprintf(" %s %v", v.Nearest, v.Known)
				}
				got = append(got, line)
			}
			if strings.Join(got, "; ") != tt.want {
				t.Errorf("got %q\nwant %q", strings.Join(got, "; "), tt.want)
			}
		})
	}
}

func TestFormatsAreAsserted(t *testing.T) {
	for format, values := range map[string]struct{ good, bad []string }{
		"date": {[]string{"2024-02-29"}, []string{"2023-02-29", "2024-2-9", "2024-02-29T", ""}},
		"time": {
			[]string{"12:00:00Z", "12:00:00.5+01:30", "23:59:60Z", "00:59:60+01:00", "18:29:60-05:30"},
			[]string{"12:00:00", "24:00:00Z", "12:00:60Z", "+1:+2:+3Z", "12:00:00z ", "12:00Z"},
		},
		"date-time": {
			[]string{"2024-02-29T12:00:00Z", "2024-02-29t12:00:00.123z"},
			[]string{"2024-02-29 12:00:00Z", "2024-02-30T12:00:00Z", "2024-02-29T"},
		},
		"duration": {[]string{"P1D", "PT1H", "P1Y2M3DT4H5M6S", "P3W"}, []string{"P", "PT", "1D", "P1DT", "P1H", "P1Y1D"}},
		"email": {
			[]string{"a@b.example", "a.b+c@d-e.example", "a@[127.0.0.1]", "a@[IPv6:::1]", `"a b"@c.example`},
			[]string{"a", "@b", "a@", "a b@c", "A <a@b.example>", "a@-b.example", "a@b..c", "(x)a@b.example"},
		},
		"hostname": {
			[]string{"a.example", "localhost", "1.a"},
			[]string{"-a.example", "a.-b", "a_b", "a..b", "", "ä.example", strings.Repeat("a", 64)},
		},
		"ipv4": {[]string{"127.0.0.1"}, []string{"127.0.0.256", "127.1", "+1.1.1.1", "01.1.1.1", "::1"}},
		"ipv6": {[]string{"::1", "fe80::1", "::ffff:1.2.3.4"}, []string{"127.0.0.1", "fe80::1%eth0", ":::"}},
		"uuid": {
			[]string{"123e4567-e89b-12d3-a456-426614174000"},
			[]string{"123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g", "{123e4567-e89b-12d3-a456-426614174000}"},
		},
		"uri": {
			[]string{"https://a.example/b?c#d", "urn:a:b", "http://[::1]:80/"},
			[]string{"/a", "a b:c", "http://a b/", "http://é.example/", "http://[::1/", "", `http://a\b`},
		},
		"uri-reference": {[]string{"/a", "a?b", ""}, []string{"a b", `\a`}},
		"iri":           {[]string{"http://é.example/ü"}, []string{"é"}},
		"regex":         {[]string{"^a$"}, []string{"(", strings.Repeat("a", 2000)}},
		"json-pointer":  {[]string{"", "/a~1b"}, []string{"a", "/~2"}},
		"uri-template":  {[]string{"https://a.example/{id}{?q*}"}, []string{"https://a.example/{id", "{"}},
		"byte":          {[]string{"YQ=="}, []string{"YQ", "*"}},
	} {
		i := with(t, `[{"name": "a", "type": "string", "format": "`+format+`"}]`)
		for _, s := range values.good {
			if _, v := i.Validate(map[string]any{"a": s}); v != nil {
				t.Errorf("%s refuses %q", format, s)
			}
		}
		for _, s := range values.bad {
			if _, v := i.Validate(map[string]any{"a": s}); len(v) != 1 || v[0].Reason != reason.InvalidFormat || v[0].Limit != format {
				t.Errorf("%s takes %q: %v", format, s, v)
			}
		}
	}
	i := with(t, `[{"name": "a", "type": "integer", "format": "int64"}]`)
	if _, v := i.Validate(object(t, `{"a": 9223372036854775807}`)); v != nil {
		t.Errorf("got %v, want nil", v)
	}
	if _, v := i.Validate(object(t, `{"a": 9223372036854775808}`)); len(v) != 1 {
		t.Error("int64 accepts 2^63")
	}
}

func TestAllViolationsInOrder(t *testing.T) {
	c := strict(t, strings.Replace(shop, "?full={full}", "", 1))
	i := c.Intents()[0]
	sent := object(t, `{"zzz": 1, "Query": "x", "limit": 0, "category": "cars"}`)
	filled, got := i.Validate(sent)
	want := []schema.Violation{
		{Pointer: "/query", Keyword: "required", Reason: reason.MissingParameter},
		{Pointer: "/category", Keyword: "enum", Reason: reason.InvalidEnumValue, Limit: []any{"books", "electronics"}},
		{Pointer: "/limit", Keyword: "minimum", Reason: reason.ParameterOutOfRange, Limit: json.Number("1")},
		{
			Pointer: "/Query", Keyword: "additionalProperties", Reason: reason.UnknownParameter, Nearest: "query",
			Known: []string{"query", "category", "limit"},
		},
		{Pointer: "/zzz", Keyword: "additionalProperties", Reason: reason.UnknownParameter},
	}
	for n := range got {
		if got[n].Message == "" {
			t.Error("a violation without message")
		}
		got[n].Message = ""
	}
	if diff := cmp.Diff(want, got); diff != "" || filled != nil {
		t.Errorf("got %v %s; want nil, an empty string", filled, diff)
	}
}

func TestValidateCopiesToFillDefaults(t *testing.T) {
	i := with(t, `[{"name": "a", "type": "string"}, {"name": "b", "type": "object", "default": {"x": [1.10, 123456789012345678901]}}]`)
	sent := map[string]any{}
	first, _ := i.Validate(sent)
	want := strictjson.Object{"b": map[string]any{"x": []any{json.Number("1.10"), json.Number("123456789012345678901")}}}
	if diff := cmp.Diff(want, first); diff != "" || len(sent) != 0 {
		t.Fatalf("got %v %s; want none, an empty string", sent, diff)
	}
	first["b"].(map[string]any)["x"].([]any)[0] = "changed"
	if second, _ := i.Validate(sent); !cmp.Equal(want, second) {
		t.Error("callers share the default")
	}
}

// If there is nothing to fill in, Validate returns the given object. It omits a null that counts as absent from a copy.
func TestValidateWithoutDefaultsToFill(t *testing.T) {
	i := with(t, `[{"name": "a", "type": "string", "required": true}, {"name": "b", "type": "integer", "default": 1},
{"name": "c", "type": "string", "default": null}, {"name": "d", "type": "string"}, {"name": "e", "type": ["string", "null"]}]`)
	for _, tt := range []struct {
		sent, want string
		same       bool
	}{
		{`{"a": "x", "b": 2}`, `{"a": "x", "b": 2}`, true},
		{`{"a": "x", "b": 2, "c": "y"}`, `{"a": "x", "b": 2, "c": "y"}`, true},
		{`{"a": "x", "c": "y"}`, `{"a": "x", "b": 1, "c": "y"}`, false},
		{`{"a": "x", "b": 2, "c": null}`, `{"a": "x", "b": 2}`, false},
		{`{"a": "x", "b": null, "d": null}`, `{"a": "x", "b": 1}`, false},
		{`{"a": "x", "b": 2, "e": null}`, `{"a": "x", "b": 2, "e": null}`, true},
	} {
		sent := object(t, tt.sent)
		got, violations := i.Validate(sent)
		same := reflect.ValueOf(got).Pointer() == reflect.ValueOf(sent).Pointer()
		if diff := cmp.Diff(object(t, tt.want), map[string]any(got)); diff != "" || len(violations) > 0 || same != tt.same {
			t.Errorf("%s: %v, the same: %v %s", tt.sent, violations, same, diff)
		}
		if !cmp.Equal(sent, object(t, tt.sent)) {
			t.Errorf("%s was changed", tt.sent)
		}
	}
}

// For every input, the violations are bounded and do not contain values.
func TestViolationsAreBoundedWithoutValues(t *testing.T) {
	for name, tt := range map[string]struct{ parameters, sent string }{
		"bad items": {
			`[{"name": "a", "type": "array", "items": {"type": "integer"}}]`,
			`{"a": [` + strings.Repeat(`"canary",`, manyItems) + `0]}`,
		},
		"bad items of anyOf": {
			`[{"name": "a", "type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}}]`,
			`{"a": [` + strings.Repeat(`"canary",`, manyItems) + `0]}`,
		},
		"many items through a ref": {
			`[{"name": "a", "$ref": "#/$defs/x", "$defs": {"x": {"items": {"type": "integer"}}}}]`,
			`{"a": [` + strings.Repeat(`"canary",`, manyItems) + `0]}`,
		},
		"few items through a ref": {
			`[{"name": "a", "$ref": "#/$defs/x", "$defs": {"x": {"items": {"type": "integer"}}}}]`,
			`{"a": [` + strings.Repeat(`"canary",`, 1000) + `0]}`,
		},
		"unknown names":       {`[]`, `{` + manyNames(10_000) + `}`},
		"a long unknown name": {`[]`, `{"` + strings.Repeat("n", 100_000) + `": "canary"}`},
		"long names inside": {
			`[{"name": "a", "type": "object", "additionalProperties": {"items": {"type": "string"}}}]`,
			`{"a": {"` + strings.Repeat("n", 500_000) + `": [` + strings.Repeat("1,", manyItems) + `1]}}`,
		},
		"a long string and a pattern": {
			`[{"name": "a", "type": "string", "pattern": ".{1,1000}x", "maxLength": 9}]`,
			`{"a": "` + strings.Repeat("canary", 100_000) + `"}`,
		},
		"colliding items": {`[{"name": "a", "type": "array", "uniqueItems": true}]`, `{"a": [` + strings.Repeat(`["canary"],`, manyItems) + `0]}`},
		"expensive text": {
			`[{"name": "a", "type": "array", "items": {"type": "string", "pattern": ".{1,1000}x"}}]`,
			`{"a": [` + strings.Repeat(`"`+strings.Repeat("canary", 1000)+`",`, dearTexts) + `"ax"]}`,
		},
		"formats": {`[{"name": "a", "type": "string", "format": "email"}]`, `{"a": "canary"}`},
		"enum":    {`[{"name": "a", "type": "string", "enum": [` + strings.Repeat(`"x",`, 5000) + `"y"]}]`, `{"a": "canary"}`},
		"not":     {`[{"name": "a", "type": "any", "not": {"const": "canary"}}]`, `{"a": "canary"}`},
	} {
		i := with(t, tt.parameters)
		filled, violations := i.Validate(object(t, tt.sent))
		if filled != nil || len(violations) == 0 || len(violations) > intents.MaxViolations {
			t.Errorf("%s: %d violations", name, len(violations))
		}
		wire, err := json.Marshal(violations)
		if err != nil || strings.Contains(string(wire), "canary") || len(wire) > 50_000 {
			t.Errorf("%s: %d bytes, %v", name, len(wire), err)
		}
	}
}

// A call that has used up its budget has one violation that reports this.
func TestStepBudgetEndsACall(t *testing.T) {
	i := with(t, `[{"name": "a", "type": "array", "items": {"oneOf": [{"enum": [`+strings.Repeat(`"x",`, 2000)+`"y"]}, {"type": "null"}]}}]`)
	if _, violations := i.Validate(object(t, `{"a": [`+strings.Repeat(`"y",`, 100_000)+`"y"]}`)); len(violations) != 1 ||
		violations[0].Reason != reason.ParameterTooLong {
		t.Errorf("%d violations, first %v", len(violations), violations[0])
	}
	if _, violations := i.Validate(object(t, `{"a": [`+strings.Repeat(`"y",`, 100)+`"y"]}`)); violations != nil {
		t.Error("the budget is not reset for the next call")
	}
}

func manyNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"name%d": "canary"`, i)
	}
	return strings.Join(names, ",")
}

// Trees that do not come from a strict decoder are rejected unless they are valid.
func TestValidateRejectsInvalidTrees(t *testing.T) {
	i := with(t, `[{"name": "a", "type": "number", "minimum": 1}, {"name": "b", "type": "any"}]`)
	deep := any("x")
	for range 100 {
		deep = []any{deep}
	}
	for _, v := range []any{
		json.Number("1e999999999"), json.Number("0x10"), json.Number("1/3"), json.Number(""), json.Number("+1"),
		json.Number("1."), json.Number("Inf"),
		struct{}{},
	} {
		if filled, violations := i.Validate(map[string]any{"a": v}); filled != nil || len(violations) != 1 {
			t.Errorf("%v: %v", v, violations)
		}
	}
	if _, violations := i.Validate(map[string]any{"b": deep}); len(violations) != 1 {
		t.Error("a tree that is too deep is accepted")
	}
}

func TestSchemas(t *testing.T) {
	i := with(t, `[{"name": "a", "required": true, "$ref": "#/$defs/x", "$defs": {"x": {"type": "array", "items": {"$ref": "#"}, "enum": `+
		`[{"$ref": "data"}]}}}, {"name": "b", "type": "any", "description": "d"}]`)
	got, err := json.Marshal(i.InputSchema())
	want := `{"additionalProperties":false,"properties":{"a":{"$defs":{"x":{"enum":[{"$ref":"data"}],"items":{"$ref":"#/properties/a"},` +
		`"type":"array"}},"$ref":"#/properties/a/$defs/x"},"b":{"description":"d"}},"required":["a"],"type":"object"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s", got)
	}
	if i.OutputSchema() != nil {
		t.Error("an intent without outputs has an output schema")
	}
}

// IsCredential ignores how names are separated and capitalized.
func TestIsCredential(t *testing.T) {
	for name, want := range map[string]bool{
		"secret": true, "api_key": true, "X-Api-Key": true, "clientSecret": true, "AccountSid": true, "Authorization": true, "access.token": true,
		"token": true, "bearer_token": true, "page_token": false, "key": false, "x": false, "secretary": false, "": false,
	} {
		if intents.IsCredential(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}

// Validate counts the characters of a long text only if its length in bytes is not enough to decide.
func TestLengthOfLongTexts(t *testing.T) {
	in := with(t, `[{"name": "a", "type": "string", "minLength": 2, "maxLength": 10000000}]`)
	for text, want := range map[string]string{
		strings.Repeat("A", 8_000_000): "", strings.Repeat("A", 41_000_000): "maxLength", "A": "minLength", "é": "minLength", "éé": "",
	} {
		_, violations := in.Validate(map[string]any{"a": text})
		got := ""
		if len(violations) > 0 {
			got = violations[0].Keyword
		}
		if got != want {
			t.Errorf("%d bytes: %q, want %q", len(text), got, want)
		}
	}
}
