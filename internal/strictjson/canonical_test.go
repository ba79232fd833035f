package strictjson_test

import (
	"encoding/json"
	"math/big"
	"strconv"
	"testing"

	"github.com/gowebpki/jcs"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// FuzzCanonical compares the canonical form of a tree with that of the library, byte for byte, and checks that Canonical rejects a number
// only if float64 changes its value.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`{"query":"lamp","max_price":99.5,"page":2,"nested":{"b":[true,null,-0,1e2,0.1],"a":"<&>"}}`, `"\u007f"`, `{"€":1,"é":2,"a":3}`,
		`{"\ue000":1,"\ud83d\ude00":2}`, `999999999999999`, `9007199254740993`, `0.000000000000001`, `-123456789.012345`, `1e-7`, `123456789012345678`,
		`{"a\"b":"c\\d"}`, `[[],{}]`, `1e400`, `1e21`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := strictjson.Decode(data)
		if err != nil {
			return
		}
		got, err := strictjson.Canonical(tree)
		if n, ok := tree.(json.Number); ok && (err == nil) != survives(string(n)) {
			t.Fatalf("%s: %v, but float64 keeps its value: %v", n, err, survives(string(n)))
		}
		if err != nil {
			return
		}
		plain, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := jcs.Transform(plain); err != nil || string(got) != string(want) {
			t.Fatalf("%s is %s, want %s, %v", data, got, want, err)
		}
	})
}

// The canonical form of a constructed tree is also that of the library.
func TestCanonicalOfConstructedTrees(t *testing.T) {
	for _, c := range []struct {
		tree any
		want string
	}{
		{nil, `null`},
		{[]any(nil), `null`},
		{map[string]any(nil), `null`},
		{strictjson.Object(nil), `null`},
		{map[string]any{"a": []any{}, "b": strictjson.Object{}, "c": []any(nil)}, `{"a":[],"b":{},"c":null}`},
		{map[string]any{"b": 1, "a": []string{"x"}}, `{"a":["x"],"b":1}`},
	} {
		if got, err := strictjson.Canonical(c.tree); err != nil || string(got) != c.want {
			t.Errorf("%#v is %s, want %s, %v", c.tree, got, c.want, err)
		}
	}
}

// survives reports whether the shortest text of a number's float64 has the value of the number.
func survives(n string) bool {
	f, err := strconv.ParseFloat(n, 64)
	if err != nil {
		return false
	}
	want, ok := new(big.Rat).SetString(n)
	got, also := new(big.Rat).SetString(strconv.FormatFloat(f, 'e', -1, 64))
	return ok && also && want.Cmp(got) == 0
}

func BenchmarkCanonical(b *testing.B) {
	tree, err := strictjson.Decode([]byte(
		`{"intent_uid":"bench.example:products:v1","parameters":{"query":"lamp","category":"home","max_price":99.5,"page":2}}`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := strictjson.Canonical(tree); err != nil {
			b.Fatal(err)
		}
	}
}
