package intents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// Rewrite writes the same value as Shape, in the order of the response. It handles all common responses.
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
			"unchanged values", `[{"name": "a", "type": "any"}, {"name": "b", "type": "object"}]`,
			` {"b" : { "z":1.0, "y": [ "\u00e9" ] }, "x": 1, "a":"<\/>"} `, `{"b":{ "z":1.0, "y": [ "\u00e9" ] },"a":"<\/>"}`,
		},
		{"a member with an escaped name", `[{"name": "a", "type": "any"}]`, `{"\u0061": 1}`, `{"a":1}`},
		{"from", `[{"name": "a", "type": "any", "from": "/x/y~1z"}, {"name": "b", "type": "any"}]`, `{"x": {"y/z": 5, "b": 0}, "b": 1}`, `{"a":5,"b":1}`},
		{"from the whole response", `[{"name": "a", "type": "object", "from": ""}]`, `{"x": 1}`, `{"a":{"x": 1}}`},
		{"not an object, one output", `[{"name": "a", "type": "array"}]`, "\n[1, 2]", `{"a":[1, 2]}`},
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
			"valid objects", `[{"name": "a", "type": "array", "minItems": 1, "items": {"type": "object", "properties": {"id": {"type": "integer"}, ` +
				`"name": {"type": "string", "maxLength": 5}, "state": {"enum": ["on", "off"]}, "at": {"type": "string", "format": "date-time"}}, ` +
				`"required": ["id", "name"], "additionalProperties": false}}]`,
			`{"a": [{"id": "7", "name": "acht", "state": "on", "at": "2026-01-02T03:04:05Z"}]}`,
			`{"a":[{"id": 7, "name": "acht", "state": "on", "at": "2026-01-02T03:04:05Z"}]}`,
		},
		{"null or a value", `[{"name": "a", "anyOf": [{"type": "integer"}, {"type": "null"}]}]`, `{"a": null}`, `{"a":null}`},
		{"alternatives", `[{"name": "a", "oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}]`, `{"a": [1]}`, `{"a":[1]}`},
		{"unique items", `[{"name": "a", "type": "array", "uniqueItems": true}]`, `{"a": [1, 2]}`, `{"a":[1, 2]}`},
		{"a required member is absent", `[{"name": "a", "type": "object", "required": ["x"], "properties": {"x": {}}}]`, `{"a": {"y": 1}}`, ""},
		{"required and absent", `[{"name": "a", "type": "any", "required": true}, {"name": "b", "type": "any"}]`, `{"b": 1}`, ""},
		{"an optional output is invalid", `[{"name": "a", "type": "integer"}, {"name": "b", "type": "any"}]`, `{"a": "x", "b": 1}`, ""},
		{"names that are too long", `[{"name": "a", "type": "any"}]`, `{"a": {"` + strings.Repeat("x", 4100) + `": 1}}`, ""},
		{"data after the response", `[{"name": "a", "type": "any"}]`, `{"a": 1}}`, ""},
		{"duplicate member", `[{"name": "a", "type": "any"}]`, `{"a": 1, "b": 1, "\u0062": 2}`, ""},
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

// rewriteAgrees compares Rewrite with Fit.
func rewriteAgrees(t *testing.T, i *intents.Intent, answer []byte) {
	t.Helper()
	got, undeclared, ok := i.Rewrite(nil, answer)
	if !ok {
		return
	}
	body, err := strictjson.Decode(answer)
	if err != nil {
		t.Fatalf("%s is rewritten as %s, but is invalid: %v", answer, got, err)
	}
	want, err := i.Fit(body, false)
	if err != nil || len(want.Dropped) > 0 {
		t.Fatalf("%s is rewritten as %s, but does not fit: %v %v; want nil, none", answer, got, err, want.Dropped)
	}
	few := undeclared.Count <= intents.MaxUndeclared
	if undeclared.Count != want.Undeclared.Count || few && !cmp.Equal(undeclared, want.Undeclared) {
		t.Fatalf("%s: undeclared are %v, want %v", answer, undeclared, want.Undeclared)
	}
	written, err := strictjson.Decode(got)
	if err != nil || !cmp.Equal(written, want.Output) {
		t.Fatalf("%s is rewritten as %s, %v; want %v", answer, got, err, want.Output)
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

// If the output is a contiguous part of the response, Rewrite returns that part. It never modifies the response.
func TestRewriteReturnsPartOfResponse(t *testing.T) {
	i := strict(t, one(`"output_parameters": [{"name": "a", "type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}, `+
		`"required": ["n"]}}, {"name": "b", "type": "string"}]`)).Intents()[0]
	for answer, stays := range map[string]bool{
		` {"a":[ {"n":1}, {"n":2} ],"b":"x"} `: true, `{"b":"x","a":[]}`: true, `{}`: true, ` {"a":[{"n":1},{"n":2}],"b":"x"}`: true,
		`{"a":[],"c":1}`: false, `{"c":1,"a":[]}`: false, `{"a":[{"n":"1"}]}`: false, `{"a" :[]}`: false, `{"a":[],"b":"x" }`: false, `{"b":1}`: false,
		`{"\u0061":[]}`: false, `{"a":[{"n":1},{"n":"2"},{"n":3}],"b":"x"}`: false,
	} {
		data := []byte(answer)
		rewriteAgrees(t, i, data)
		got, _, ok := i.Rewrite(nil, data)
		part := ok && &got[0] == &data[len(data)-len(strings.TrimLeft(answer, " "))]
		if !ok || part != stays || string(data) != answer || cap(got) != len(got) && part {
			t.Errorf("%s: %s, %t; a part of it: %t, want %t", answer, got, ok, part, stays)
		}
	}
	data := []byte(`{"a":[` + strings.Repeat(`{"n":1,"m":"x"},`, 10_000) + `{"n":2}],"b":"x"}`)
	if n := testing.AllocsPerRun(100, func() { i.Rewrite(nil, data) }); n > 1 {
		t.Errorf("%g allocations for an unchanged response, want at most 1", n)
	}
}

// The cache of member names is used only for the same schema and the same names in the same order.
func TestRewriteCacheOfMemberNames(t *testing.T) {
	i := strict(t, one(`"output_parameters": [
		{"name": "a", "type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}, "m": {"type": "string"}}, "required": ["n"]}},
		{"name": "b", "type": "array", "items": {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["m"], "additionalProperties": false}},
		{"name": "c", "type": "array"}]`)).Intents()[0]
	for answer, fits := range map[string]bool{
		`{"a":[{"n":1,"m":"x"},{"n":1,"m":"x"}],"c":[{"n":[]}]}`:         true,
		`{"a":[{"n":1,"m":"x"},{"n":1,"m":[]}]}`:                         false,
		`{"a":[{"n":1,"m":"x"},{"m":"x","n":1},{"n":1}]}`:                true,
		`{"a":[{"n":1,"m":"x"},{"m":"x","o":1}]}`:                        false,
		`{"a":[{"n":1,"m":"x"},{"n":"y"}]}`:                              false,
		`{"a":[{"n":1},{"n":2}],"b":[{"n":"x"}]}`:                        false,
		`{"a":[{"n":1,"m":"x"}],"b":[{"n":"x","m":1}]}`:                  false,
		`{"c":[{"n":1}],"a":[{"n":1}],"c2":[{"m":1}],"b":[]}`:            true,
		`{"c":[{"n":1}],"a":[{"n":[]}]}`:                                 false,
		`{"a":[{"o":1,"n":1},{"o":[],"n":2},{"o":[],"n":2,"m":null}]}`:   false,
		`{"a":[{"o":1,"n":1},{"o":[],"n":2},{"o":{},"n":2,"m":"null"}]}`: true,
	} {
		rewriteAgrees(t, i, []byte(answer))
		if got, _, ok := i.Rewrite(nil, []byte(answer)); ok != fits {
			t.Errorf("%s: %s, %t, want %v", answer, got, ok, fits)
		}
	}
}

func BenchmarkRewrite(b *testing.B) {
	for name, outputs := range map[string]string{
		"types": `{"type": "object"}`,
		"members": `{"type": "object", "required": ["id", "name", "price"], "properties": {"id": {"type": "string"}, "name": {"type": "string"}, ` +
			`"price": {"type": "number"}, "currency": {"type": "string"}, "category": {"type": "string"}, "stock": {"type": "integer"}}}`,
	} {
		i := strict(b, one(`"output_parameters": [{"name": "products", "type": "array", "required": true, "items": `+outputs+`}, `+
			`{"name": "total_results", "type": "integer"}]`)).Intents()[0]
		for size, n := range map[string]int{"519B": 4, "20kB": 170, "1MB": 8700} {
			list := make([]string, n)
			for k := range list {
				list[k] = fmt.Sprintf(`{"id":"p-%d","name":"%s inch office laptop","price":1149.00,"currency":"EUR","category":"electronics","stock":%d}`,
					1001+k%4, []string{"Fourteen", "Sixteen", "Thirteen", "Twelve"}[k%4], k%40)
			}
			for more, end := range map[string]string{"": "", "/dropped": `,"more":null`} {
				answer := fmt.Appendf(nil, `{"products":[%s],"total_results":%d%s}`, strings.Join(list, ","), n, end)
				b.Run(name+"/"+size+more, func(b *testing.B) {
					b.SetBytes(int64(len(answer)))
					b.ReportAllocs()
					for b.Loop() {
						if _, _, ok := i.Rewrite(nil, answer); !ok {
							b.Fatal("not written")
						}
					}
				})
			}
		}
	}
}
