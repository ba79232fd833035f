package intents_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// FuzzParse checks that Parse returns either a catalogue or errors, and that a published document from strict parsing has the same meaning
// when it is parsed again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(strings.Replace(shop, "?full={full}", "", 1)))
	f.Add([]byte(one(`"input_parameters": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}}`)))
	f.Add([]byte(one(`"output_parameters": [{"name": "a", "from": "/x", "$ref": "#/$defs/b", "$defs": {"b": {"type": "array", "items": ` +
		`{"$ref": "#"}}}}]`)))
	f.Add([]byte(`{"service": {"name": "D"}, "intents": [{"uid": "d.example:do-it:v1", "name": "DoIt", "endpoint": {"url": ` +
		`"https://d.example/{a}"}}], "security": {"public_key": "x"}}`))
	f.Add([]byte(one(`"input_parameters": [{"name": "a", "type": ["integer", "null"], "enum": [1, {}], "const": null, "multipleOf": ` +
		`1e-400, "minLength": 1.0, "maxItems": 1e3, "uniqueItems": false,
	  "pattern": "^(?P<x>a)$", "format": "uri-template", "dependentRequired": {"a": []}, "minProperties": 0, "exclusiveMaximum": -1.5E+3}]`)))
	f.Add([]byte(`{"agentsJson": "0.1.0", "flows": []}`))
	f.Add([]byte(shop[:500]))
	f.Add([]byte("{\"intents\":[{\"intent_uid\":\"a:b:v1\",\"\xff\":1}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, opts := range []intents.Options{{}, {Strict: true}} {
			c, list := intents.Parse(data, opts)
			if (c == nil) != list.Failed() {
				t.Fatalf("catalogue %v, problems %v", c, list)
			}
			if c == nil {
				continue
			}
			for _, i := range c.Intents() {
				if found, ok := c.Lookup(i.UID); !ok || found != i {
					t.Fatalf("%s is not found", i.UID)
				}
				if _, err := strictjson.DecodeObject(i.JSON()); err != nil {
					t.Fatalf("%s is published as %s: %v", i.UID, i.JSON(), err)
				}
				if _, err := json.Marshal(i.InputSchema()); err != nil {
					t.Fatal(err)
				}
				i.Validate(map[string]any{"a": json.Number("1")})
				if _, err := shaped(i, map[string]any{"x": []any{"1"}}); err != nil && !errors.Is(err, intents.ErrResponse) {
					t.Fatal(err)
				}
			}
			c.Search(intents.Query{Text: "search", Description: "a"})
			published, err := c.Published([]intents.Extra{{Name: "uim-issuer", Value: "a"}, {Name: "uim-public-key", Value: "b"}})
			if err != nil {
				t.Fatal(err)
			}
			if !opts.Strict {
				continue
			}
			again, list := intents.Parse(published, opts)
			if again == nil || len(again.Intents()) != len(c.Intents()) {
				t.Fatalf("published %s: %v", published, list)
			}
		}
	})
}

// FuzzValidate checks that valid parameters with their defaults are valid, and that adding the defaults again changes nothing.
func FuzzValidate(f *testing.F) {
	schemas := []string{
		`[{"name": "a", "type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"}, {"name": "b", "type": "integer", "default": ` +
			`7, "maximum": 12345678901234567890}]`,
		`{"a": {"type": "integer", "default": null}, "b": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": ` +
			`null}, "c": {"type": "array", "items": {"type": "number"}, "default": [1.0]}}`,
		`[{"name": "a", "$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}, "v": {"enum": [1, ` +
			`"x", null]}}, "additionalProperties": false}}}]`,
		`[{"name": "a", "oneOf": [{"type": "string"}, {"type": "array", "uniqueItems": true, "contains": {"const": 1}}, {"multipleOf": 0.1}]}]`,
	}
	for n, s := range []string{
		`{"a": "abc"}`, `{"a": 1, "b": "2024-01-01"}`, `{"a": {"n": {"v": "x"}}}`, `{"a": [1, 1.0]}`, `{"c": ["x"]}`,
		`{"a": null}`,
	} {
		f.Add(uint8(n), []byte(s))
	}
	f.Add(uint8(0), []byte(`{"`+strings.Repeat("0", 300)+`": null}`))
	var all []*intents.Intent
	for _, s := range schemas {
		c, list := intents.Parse([]byte(one(`"input_parameters": `+s)), intents.Options{Strict: true})
		if c == nil {
			f.Fatal(list)
		}
		all = append(all, c.Intents()[0])
	}
	f.Fuzz(func(t *testing.T, n uint8, data []byte) {
		params, err := strictjson.DecodeObject(data)
		if err != nil {
			return
		}
		before, _ := strictjson.DecodeObject(data)
		i := all[int(n)%len(all)]
		filled, violations := i.Validate(params)
		if !cmp.Equal(params, before) {
			t.Fatal("the parameters were changed")
		}
		if (filled == nil) != (len(violations) > 0) || len(violations) > intents.MaxViolations {
			t.Fatalf("%v with %v", filled, violations)
		}
		for _, v := range violations {
			// If a name is too long for the response, the violation has the pointer of its object.
			nameless := v.Pointer == "" && v.Reason == reason.UnknownParameter
			if v.Reason == "" || v.Keyword == "" || v.Message == "" || v.Pointer == "" && !nameless {
				t.Fatalf("got %+v", v)
			}
		}
		if filled == nil {
			return
		}
		if again, violations := i.Validate(filled); len(violations) > 0 || !cmp.Equal(again, filled) {
			t.Fatalf("%v became %v: %v", filled, again, violations)
		}
	})
}

// FuzzShape checks that a shaped response has only declared members and every required one, and that shaping it again by name changes
// nothing.
func FuzzShape(f *testing.F) {
	c, list := intents.Parse([]byte(one(`"output_parameters": [
	  {"name": "a", "type": "number", "required": true}, {"name": "b", "type": "string"}, {"name": "c", "type": "boolean"},
	  {"name": "d", "type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": `+
		`["x"]}}]`)), intents.Options{Strict: true})
	if c == nil {
		f.Fatal(list)
	}
	i := c.Intents()[0]
	for _, s := range []string{
		`{"a": "1.50", "b": 2, "c": "true", "d": [{"x": "1"}], "e": 0}`, `[1]`, `{"a": 1e400}`, `{"a": "1e99999"}`,
		`null`, `{"a": -0}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		body, err := strictjson.Decode(data)
		if err != nil {
			return
		}
		before, _ := strictjson.Decode(data)
		out, err := shaped(i, body)
		if !cmp.Equal(body, before) {
			t.Fatal("the body was changed")
		}
		if err != nil {
			if out != nil || !errors.Is(err, intents.ErrResponse) {
				t.Fatalf("%v with %v; want nil and %v", out, err, intents.ErrResponse)
			}
			return
		}
		m, ok := out.(map[string]any)
		if !ok || m["a"] == nil {
			t.Fatalf("got %v", out)
		}
		for name := range m {
			if !strings.Contains("abcd", name) {
				t.Fatalf("%s is not declared", name)
			}
		}
		if again, err := shaped(i, out); err != nil || !cmp.Equal(again, out) {
			t.Fatalf("%v became %v: %v", out, again, err)
		}
	})
}
