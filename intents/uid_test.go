package intents_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents"
)

func TestParseUID(t *testing.T) {
	for in, want := range map[string]struct{ ok, canonical bool }{
		"example.com:search-products:v1":        {true, true},
		"example.com:search-products:v2.1":      {true, true},
		"a:b:v1.2.3":                            {true, true},
		"xn--bcher-kva.example:a:v0":            {true, true},
		"shop.com:searchProducts:v1":            {true, false},
		"shop.com:search_products:v1":           {true, false},
		"127.0.0.1:a:v1":                        {true, true},
		"":                                      {},
		"example.com:search":                    {},
		"example.com:search:v1:execute":         {},
		"Example.com:search:v1":                 {},
		"example.com.:search:v1":                {},
		"-example.com:search:v1":                {},
		"example..com:search:v1":                {},
		"example.com::v1":                       {},
		"example.com:-a:v1":                     {},
		"example.com:a b:v1":                    {},
		"example.com:a/b:v1":                    {},
		"example.com:é:v1":                      {},
		"example.com:a:1":                       {},
		"example.com:a:v1.2.3.4":                {},
		"example.com:a:v01":                     {},
		"example.com:a:v1\n":                    {},
		"example.com:a:v1\x00":                  {},
		"example.com:a:v12345678901":            {},
		strings.Repeat("a", 64) + ":a:v1":       {},
		"a:" + strings.Repeat("a", 101) + ":v1": {},
		strings.Repeat("a.", 300) + "a:a:v1":    {},
	} {
		u, err := intents.ParseUID(in)
		switch {
		case want.ok && (err != nil || u.String() != in || u.Canonical() != want.canonical):
			t.Errorf("%q: %v, %v, canonical %v", in, u, err, u.Canonical())
		case !want.ok && (!errors.Is(err, intents.ErrUID) || u != intents.UID{}):
			t.Errorf("%q: %v, %v; want only ErrUID", in, u, err)
		}
	}
}

func TestVersionsCompareByNumber(t *testing.T) {
	order := []string{"v1", "v1.0", "v1.2", "v1.2.3", "v1.10", "v2", "v10"}
	for i, a := range order {
		for j, b := range order {
			x, y := intents.UID{"a", "b", a}, intents.UID{"a", "b", b}
			if got := x.Compare(y); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%s against %s: %d", a, b, got)
			}
		}
	}
}

func FuzzParseUID(f *testing.F) {
	f.Add("example.com:search-products:v1")
	f.Add("shop.com:searchProducts:v1.2.3")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := intents.ParseUID(s)
		if err != nil {
			if u != (intents.UID{}) {
				t.Fatal("got an error and a value")
			}
			return
		}
		if u.String() != s {
			t.Fatalf("%q became %q", s, u)
		}
		var again intents.UID
		if text, _ := u.MarshalText(); again.UnmarshalText(text) != nil || again != u {
			t.Fatalf("%q changes when its text is parsed", s)
		}
	})
}
