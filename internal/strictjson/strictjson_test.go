package strictjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/strictjson"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		name, in, wantErr string
		want              any
	}{
		{
			name: "numbers keep their text", in: `[12345678901234567890, 0.10, -1e-7]`,
			want: []any{json.Number("12345678901234567890"), json.Number("0.10"), json.Number("-1e-7")},
		},
		{
			name: "object", in: ` {"a":{"b":[true,null,"é"]}} `,
			want: map[string]any{"a": map[string]any{"b": []any{true, nil, "é"}}},
		},
		{
			name: "member names are case-exact", in: `{"scope":1,"SCOPE":2}`,
			want: map[string]any{"scope": json.Number("1"), "SCOPE": json.Number("2")},
		},
		{name: "duplicate member", in: "{\"a\":1,\n\"a\":2}", wantErr: "line 2 column 1 at /a: the same member occurs twice"},
		{name: "duplicate member, escaped", in: `{"a":1,"\u0061":2}`, wantErr: "occurs twice"},
		{name: "truncated", in: `{"a":[1,2`, wantErr: "ends too early"},
		{name: "empty", in: ``, wantErr: "ends too early"},
		{name: "trailing bytes", in: `{} {}`, wantErr: "more bytes follow"},
		{name: "deep", in: strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), wantErr: "nested deeper than 64"},
		{name: "raw NUL", in: "{\"a\":\"x\x00y\"}", wantErr: "not valid JSON"},
		{name: "escaped NUL", in: `{"a":"x\u0000y"}`, wantErr: "U+0000"},
		{name: "escaped NUL in a name", in: `{"a\u0000":1}`, wantErr: "U+0000"},
		{name: "invalid UTF-8", in: "{\"a\":\"\xff\"}", wantErr: "not valid UTF-8"},
		{name: "lone surrogate", in: `{"a":"\ud800"}`, wantErr: "line 1"},
		{name: "huge exponent", in: `[1e999999999]`, wantErr: "exponent"},
		{name: "long number", in: `[` + strings.Repeat("9", 401) + `]`, wantErr: "more than 400"},
		{name: "NaN", in: `[NaN]`, wantErr: "not valid JSON"},
		{name: "byte order mark", in: "\ufeff{}", wantErr: "not valid JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := strictjson.Decode([]byte(tt.in))
			if valid := strictjson.Valid([]byte(tt.in)); valid != (tt.wantErr == "") {
				t.Errorf("Valid reports %t, want %v", valid, tt.wantErr == "")
			}
			if tt.wantErr != "" {
				if _, ok := errors.AsType[*strictjson.Error](err); !ok || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("err = %v, want one with %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsNeverQuoteTheInput(t *testing.T) {
	for _, in := range []string{`{"canary": canary}`, `{"canary":"canary`, `canary`, `{"a":"canary` + "\xff" + `"}`} {
		_, err := strictjson.Decode([]byte(in))
		e, ok := errors.AsType[*strictjson.Error](err)
		if !ok || strings.Contains(e.Reason, "canary") {
			t.Errorf("Decode(%q): %v", in, err)
		}
	}
}

func TestErrorsShowNamesPrintably(t *testing.T) {
	_, err := strictjson.Decode([]byte(`{"a\r\u001b[2J` + strings.Repeat("b", 500) + `": x}`))
	if err == nil || strings.ContainsAny(err.Error(), "\r\x1b") || len(err.Error()) > 300 {
		t.Errorf("got %q", err)
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1.0,"a":"é","c":[1e2,0.01]}`: `{"a":"é","b":1,"c":[100,0.01]}`,
		`{"€":1,"\r":2,"1":3}`:             `{"\r":2,"1":3,"€":1}`,
		`9007199254740992`:                 `9007199254740992`,
		`9007199254740993`:                 "",
		`{"a":[0.1234567890123456789]}`:    "",
		`1e400`:                            "",
	} {
		v, err := strictjson.Decode([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		got, err := strictjson.Canonical(v)
		if want == "" {
			if _, ok := errors.AsType[*strictjson.InexactError](err); !ok {
				t.Errorf("%s: %s, %v; want an InexactError", in, got, err)
			}
			continue
		}
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestPosition(t *testing.T) {
	doc := []byte("{\n  \"a\": [\n    1,\n    {\"b/c\": true}\n  ]\n}")
	for pointer, want := range map[string][2]int{
		"/a": {2, 3}, "/a/1": {4, 5}, "/a/1/b~1c": {4, 6}, "/nope": {1, 1}, "": {1, 1},
	} {
		line, col := strictjson.Position(doc, pointer)
		if line != want[0] || col != want[1] {
			t.Errorf("%q: %d:%d, want %v", pointer, line, col, want)
		}
	}
}

func TestLookup(t *testing.T) {
	tree, err := strictjson.Decode([]byte(`{"a":[{"b/c":1,"~":2,"":3}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]any{
		"/a/0/b~1c": json.Number("1"), "/a/0/~0": json.Number("2"), "/a/0/": json.Number("3"),
		"/a/1": nil, "/a/00": nil, "/a/-": nil, "a": nil, "/x": nil,
	} {
		got, ok := strictjson.Lookup(tree, pointer)
		if ok != (want != nil) || got != want {
			t.Errorf("%q: %v, %v; want %v, %v", pointer, got, ok, want, want != nil)
		}
	}
}

// FuzzDecode checks that a decoded value stays the same when it is encoded and decoded again, and that every error is an *Error.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x",null,true]}`, `[[[]]]`, `"\ud83d\ude00"`, `{"a":1,"a":2}`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := strictjson.Decode(data)
		if strictjson.Valid(data) != (err == nil) {
			t.Fatalf("Valid reports %t; %v", err != nil, err)
		}
		if err != nil {
			e, ok := errors.AsType[*strictjson.Error](err)
			if !ok || e.Line < 1 || e.Column < 1 || v != nil {
				t.Fatalf("got %v, %#v", v, err)
			}
			return
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := strictjson.Decode(out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(v, again); diff != "" {
			t.Fatalf("differs (-want +got):\n%s", diff)
		}
		if c, err := strictjson.Canonical(v); err == nil {
			w, err := strictjson.Decode(c)
			if err != nil {
				t.Fatal(err)
			}
			c2, err := strictjson.Canonical(w)
			if err != nil || string(c2) != string(c) {
				t.Fatalf("canonical form is not a fixed point: %s, %s, %v", c, c2, err)
			}
		}
	})
}

func TestDecodeObjectOfCountsValues(t *testing.T) {
	const document = `{"a": [1, {"b": null}], "c": "[,,,,]"}` // six values
	if _, err := strictjson.DecodeObjectOf([]byte(document), 6); err != nil {
		t.Error(err)
	}
	if _, err := strictjson.DecodeObjectOf([]byte(document), 5); err == nil || !strings.Contains(err.Error(), "more than 5 values") {
		t.Errorf("six values: %v, want an error that contains %q", err, "more than 5 values")
	}
}
