package intents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// What Rewrite writes is what Shape returns, in the order of the answer; and it writes all that is usual.
func TestRewrite(t *testing.T) {
	many := func(n int, format string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(format, i))
		}
		return strings.Join(list, ", ")
	}
	for _, tt := range []struct{ name, outputs, body, want string }{
		{
			"values as they stand", `[{"name": "a", "type": "any"}, {"name": "b", "type": "object"}]`,
			` {"b" : { "z":1.0, "y": [ "\u00e9" ] }, "x": 1, "a":"<\/>"} `, `{"b":{ "z":1.0, "y": [ "\u00e9" ] },"a":"<\/>"}`,
		},
		{"a member with an escaped name", `[{"name": "a", "type": "any"}]`, `{"\u0061": 1}`, `{"a":1}`},
		{"from", `[{"name": "a", "type": "any", "from": "/x/y~1z"}, {"name": "b", "type": "any"}]`, `{"x": {"y/z": 5, "b": 0}, "b": 1}`, `{"a":5,"b":1}`},
		{"from the whole answer", `[{"name": "a", "type": "object", "from": ""}]`, `{"x": 1}`, `{"a":{"x": 1}}`},
		{"no object, one output", `[{"name": "a", "type": "array"}]`, "\n[1, 2]", `{"a":[1, 2]}`},
		{"optional and absent", `[{"name": "a", "type": "any"}]`, `{}`, `{}`},
		{
			"conversions", `[{"name": "a", "type": "array", "items": {"type": "number"}}, {"name": "b", "type": "string"}, {"name": "c", "type": "boolean"}, ` +
				`{"name": "d", "type": "string"}]`,
			`{"a": [1, "2.50", 3, "-4"], "b": 1.50, "c": "true", "d": false}`, `{"a":[1, 2.50, 3, -4],"b":"1.50","c":true,"d":"false"}`,
		},
		{
			"objects", `[{"name": "a", "type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "object", "properties": {"id": {"type": "integer"}, ` +
				`"name": {"type": "string", "maxLength": 5}, "state": {"enum": ["on", "off"]}, "at": {"type": "string", "format": "date-time"}}, ` +
				`"required": ["id", "name"], "additionalProperties": false, "maxProperties": 4}}]`,
			`{"a": [{"id": "7", "name": "sieben", "x": 1}]}`, "",
		},
		{
			"objects that fit", `[{"name": "a", "type": "array", "minItems": 1, "items": {"type": "object", "properties": {"id": {"type": "integer"}, ` +
				`"name": {"type": "string", "maxLength": 5}, "state": {"enum": ["on", "off"]}, "at": {"type": "string", "format": "date-time"}}, ` +
				`"required": ["id", "name"], "additionalProperties": false}}]`,
			`{"a": [{"id": "7", "name": "acht", "state": "on", "at": "2026-01-02T03:04:05Z"}]}`,
			`{"a":[{"id": 7, "name": "acht", "state": "on", "at": "2026-01-02T03:04:05Z"}]}`,
		},
		{"null or a value", `[{"name": "a", "anyOf": [{"type": "integer"}, {"type": "null"}]}]`, `{"a": null}`, `{"a":null}`},
		{"alternatives", `[{"name": "a", "oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}]`, `{"a": [1]}`, `{"a":[1]}`},
		{"different items", `[{"name": "a", "type": "array", "uniqueItems": true}]`, `{"a": [1, 2]}`, `{"a":[1, 2]}`},
		{"a required member is absent", `[{"name": "a", "type": "object", "required": ["x"], "properties": {"x": {}}}]`, `{"a": {"y": 1}}`, ""},
		{"required and absent", `[{"name": "a", "type": "any", "required": true}, {"name": "b", "type": "any"}]`, `{"b": 1}`, ""},
		{"an optional one does not fit", `[{"name": "a", "type": "integer"}, {"name": "b", "type": "any"}]`, `{"a": "x", "b": 1}`, ""},
		{"names that are too long", `[{"name": "a", "type": "any"}]`, `{"a": {"` + strings.Repeat("x", 4100) + `": 1}}`, ""},
		{"more after the answer", `[{"name": "a", "type": "any"}]`, `{"a": 1}}`, ""},
		{"a member twice", `[{"name": "a", "type": "any"}]`, `{"a": 1, "b": 1, "\u0062": 2}`, ""},
		{"inside a list", `[{"name": "a", "type": "any", "from": "/0"}]`, `[1]`, ""},
		{"many members", `[{"name": "a", "type": "object"}]`, `{"a": {` + many(40, `"n%d": 0`) + `}}`, `{"a":{` + many(40, `"n%d": 0`) + `}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := strict(t, one(`"output_parameters": `+tt.outputs)).Intents()[0]
			got, _, ok := i.Rewrite([]byte("before"), []byte(tt.body))
			if ok != (tt.want != "") || string(got) != "before"+tt.want {
				t.Errorf("%s, %v; want %s", got, ok, tt.want)
			}
			rewriteAgrees(t, i, []byte(tt.body))
		})
	}
}

// rewriteAgrees holds Rewrite against Fit.
func rewriteAgrees(t *testing.T, i *intents.Intent, answer []byte) {
	t.Helper()
	got, undeclared, ok := i.Rewrite(nil, answer)
	if !ok {
		return
	}
	body, err := strictjson.Decode(answer)
	if err != nil {
		t.Fatalf("%s is written as %s, and is not acceptable: %v", answer, got, err)
	}
	want, err := i.Fit(body, false)
	if err != nil || len(want.Dropped) > 0 {
		t.Fatalf("%s is written as %s; it does not fit: %v %v", answer, got, err, want.Dropped)
	}
	few := undeclared.Count <= intents.MaxUndeclared
	if undeclared.Count != want.Undeclared.Count || few && !cmp.Equal(undeclared, want.Undeclared) {
		t.Fatalf("%s: undeclared are %v, want %v", answer, undeclared, want.Undeclared)
	}
	written, err := strictjson.Decode(got)
	if err != nil || !cmp.Equal(written, want.Output) {
		t.Fatalf("%s is written as %s, %v; want %v", answer, got, err, want.Output)
	}
}

func FuzzRewriteAgreesWithFit(f *testing.F) {
	for _, s := range [][2]string{
		{`[{"name": "a", "type": "number", "required": true}, {"name": "b", "type": "string", "maxLength": 3}]`, `{"a": "1.50", "b": 2, "e": 0}`},
		{`[{"name": "a", "type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}]`, `[{"x": "1"}]`},
		{`[{"name": "a", "from": "/x/y", "enum": [1, "1", true]}, {"name": "b", "from": "/x/z", "type": "boolean"}]`, `{"x": {"y": 1.0, "z": "true"}}`},
		{`[{"name": "a", "type": "array", "uniqueItems": true, "items": {"type": "string"}}]`, `{"a": [1, "1"]}`},
		{`[{"name": "a", "additionalProperties": {"type": "number", "minimum": 1}, "minProperties": 1}]`, `{"a": {"x": "2", "y": 3}}`},
		{`[{"name": "a", "anyOf": [{"type": "integer"}, {"type": "null"}]}]`, `{"a": "1"}`},
		{`[{"name": "a", "type": ["string", "integer"], "pattern": "^a"}, {"name": "b", "type": "null"}]`, `{"a": 1, "b": null}`},
	} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, outputs, answer []byte) {
		if !strings.HasPrefix(string(outputs), "[") {
			return
		}
		if c, _ := intents.Parse([]byte(one(`"output_parameters": `+string(outputs))), intents.Options{Strict: true}); c != nil && len(c.Intents()) == 1 {
			rewriteAgrees(t, c.Intents()[0], answer)
		}
	})
}

func BenchmarkRewrite(b *testing.B) {
	i := strict(b, one(`"output_parameters": [{"name": "products", "type": "array", "required": true, "items": {"type": "object"}}, `+
		`{"name": "total_results", "type": "integer"}]`)).Intents()[0]
	for _, n := range []int{5, 170, 8700} {
		var list []string
		for k := range n {
			list = append(list, fmt.Sprintf(`{"id":"p-%d","name":"Product number %d","price":12.5,"tags":["red","large"],"in_stock":true}`, k, k))
		}
		answer := fmt.Appendf(nil, `{"products":[%s],"total_results":%d}`, strings.Join(list, ","), n)
		b.Run(fmt.Sprint(len(answer)), func(b *testing.B) {
			b.SetBytes(int64(len(answer)))
			b.ReportAllocs()
			var out []byte
			for b.Loop() {
				var ok bool
				if out, _, ok = i.Rewrite(out[:0], answer); !ok {
					b.Fatal("not written")
				}
			}
		})
	}
}
