package strictjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// shapes returns documents that a parser easily misreads.
func shapes() []string {
	list := []string{
		"", " ", "{}", "[]", "null", "true", "false", "nul", "truex", `""`, `"a"`, `"\u00e9\n\"\\\/\b\f\r\t"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`,
		`"\ud83dx"`, `"\ud83d\n"`, `"\ud83d\u0041"`, `"\u0000"`, `"a\u0000"`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"a\nb\"", "\"\x1f\"", "\"\x7f\"", "\"\xff\"", "\"\xed\xa0\x80\"",
		`"é"`, `"日本語日本語日本語"`, "0", "-0", "-", "01", "1.", ".5", "1.5", "1e5", "1E+5", "1e-400", "1e401", "1e+0000400", "1e", "1e+", "1.5e3x", "+1", "Infinity", "NaN",
		strings.Repeat("9", 400), strings.Repeat("9", 401), `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":{"a":1},"b":{"a":1}}`,
		`{"a":1,}`, `[1,]`, `[,1]`, `{,}`,
		`{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `[1 2]`, `{"a":[1,2`, "[1]]", "[1] x", "{} {}", "\ufeff{}", `{"":1}`, `{"":1,"":2}`, "\t[\r\n1 , 2 ]\n", `"12345678`, `"1234567"`,
		`"12345678"`, `"123456\"8"`, `"1234567\u00e98"`, `{"a\u0000":1}`, `"` + "\x00" + `"`, "[\"a\",\"b\\\"c\"]",
	}
	for _, depth := range []int{63, 64, 65} {
		list = append(list, strings.Repeat("[", depth)+strings.Repeat("]", depth), strings.Repeat("[", depth)+"1"+strings.Repeat("]", depth),
			strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth))
	}
	for _, many := range []int{11, 12, 13, 14, 40} {
		list = append(list, object(many, ""), object(many, fmt.Sprintf(`,"n%d":0`, many/2)), object(many, `,"\u006e3":0`), `[`+object(many, "")+`,`+object(many, "")+`]`,
			`{"x":`+object(many, "")+`,"y":`+object(many, `,"n1":0`)+`}`)
	}
	return list
}

func object(many int, more string) string {
	var b strings.Builder
	for i := range many {
		fmt.Fprintf(&b, `,"n%d":{"n%d":%d}`, i, i, i)
	}
	return "{" + b.String()[1:] + more + "}"
}

// agree compares the result of a cursor with the result of the library, for the whole document and value by value. It also encodes the
// result of the cursor and reads it again.
func agree(t *testing.T, data []byte) {
	t.Helper()
	want, err := strictjson.Explain(data)
	if got, fast := strictjson.Decode(data); fmt.Sprint(fast) != fmt.Sprint(err) || !reflect.DeepEqual(got, want) {
		t.Errorf("%.300q: Decode returns %#v, %v; want %#v, %v", data, got, fast, want, err)
	}
	if err == nil {
		written, wrong := strictjson.AppendForHTML([]byte("before"), want)
		plain, failed := json.Marshal(want)
		if wrong != nil || failed != nil || string(written) != "before"+string(plain) {
			t.Errorf("%.300q: written as %s, %v; json.Marshal: %s, %v", data, written, wrong, plain, failed)
		}
		written, wrong = strictjson.Append(nil, want)
		if again, err := strictjson.Explain(written); wrong != nil || err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%.300q: written as %s, %v; read again: %#v, %v", data, written, wrong, again, err)
		}
	}
	c := strictjson.Begin(data)
	if c.Skip(); c.Complete() != (err == nil) {
		t.Errorf("%.300q: skipping returns %v; Decode returns %v; want %v", data, c.Complete(), err, err == nil)
	}
	c.End()
	c = strictjson.Begin(data)
	defer c.End()
	got := walk(c)
	if c.Complete() != (err == nil) {
		t.Errorf("%.300q: walking returns %v; Decode returns %v; want %v", data, c.Complete(), err, err == nil)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%.300q: %#v; Decode returns %#v", data, got, want)
	}
}

// walk builds the tree of the next value.
func walk(c *strictjson.Cursor) any {
	switch c.Next() {
	case '{':
		members := map[string]any{}
		for c.Open('{'); c.Member(); {
			name := string(c.Name())
			members[name] = walk(c)
		}
		return members
	case '[':
		list := []any{}
		for c.Open('['); c.Item(); {
			list = append(list, walk(c))
		}
		return list
	default:
		value, _ := strictjson.Decode(c.Value())
		return value
	}
}

// A cursor agrees with a reader of the library on each of these documents, and on those that fuzzing finds.
func FuzzCursor(f *testing.F) {
	for _, in := range slices.Concat(shapes(), words(), siblings()) {
		f.Add([]byte(in))
	}
	f.Fuzz(agree)
}

// Find returns the value that Lookup finds in the tree.
func TestFind(t *testing.T) {
	document := []byte(` {"a": {"b/c": [1.50, {"d": "x"}], "~": null}, "": true, "a2": []} `)
	tree, err := strictjson.Decode(document)
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"": string(bytes.TrimSpace(document)), "/a/b~1c": `[1.50, {"d": "x"}]`, "/a/b~1c/0": "1.50", "/a/b~1c/1/d": `"x"`, "/a/~0": "null", "/": "true",
		"/a2": "[]", "/a2/0": "", "/a/b~1c/01": "", "/a/b~1c/-": "", "/a/b~1c/2": "", "/x": "", "a": "", "/a/~0/x": "", "/a/b~1c/0/0": "",
	} {
		got, ok := strictjson.Find(document, pointer)
		if _, found := strictjson.Lookup(tree, pointer); string(got) != want || ok != found || ok != (want != "") {
			t.Errorf("%q: %s, %t; Lookup: %t", pointer, got, ok, found)
		}
	}
	for _, bad := range []string{`{"a":1`, `{"a":1} x`, `{"a":1,"a":2}`, ``} {
		if got, ok := strictjson.Find([]byte(bad), "/a"); ok {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

// A mark stays with a name as long as the objects at its depth, including skipped ones, have the name in the same position.
func TestMarksStayWithNames(t *testing.T) {
	c := strictjson.Begin([]byte(`[{"a":1,"b":2},{"a":1,"b":2},{"a":1,"c":2},{"a":{"b":1},"b":2},[{"b":1}],{"b":1},{"a":1,"b":2}]`))
	defer c.End()
	var got []string
	n := uint32(0)
	for c.Open('['); c.Item(); {
		if n == 8 { // after the fourth object
			n++
			c.Skip()
			c.Item()
			c.Skip()
			c.Item()
		}
		for c.Open('{'); c.Member(); c.Skip() {
			n++
			got = append(got, fmt.Sprintf("%s:%d", c.Name(), *c.Mark()))
			*c.Mark() = n
		}
	}
	want := "a:0 b:0 a:1 b:2 a:3 c:0 a:5 b:0 a:0 b:0"
	if !c.Complete() || strings.Join(got, " ") != want {
		t.Errorf("%s; want %s", strings.Join(got, " "), want)
	}
}
