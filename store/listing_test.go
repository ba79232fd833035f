package store_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/store"
)

func TestCursors(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 1, time.UTC)
	for _, c := range []store.Cursor{
		{},
		{At: at, ID: "p3XQ0w5mTkq7sJ1vYb2c9A"},
		{At: time.Unix(0, 0).UTC(), ID: "a.b"},
		{At: time.Unix(-1, 0).UTC(), ID: "x"},
	} {
		if got, ok := store.ParseCursor(c.String()); !ok || got != c {
			t.Errorf("%q: %+v, %v; want %+v", c.String(), got, ok, c)
		}
	}
	for _, bad := range []string{".", "1", "1.", ".x", "x.1", "1e3.x", "+1.x", "01.x", " 1.x", "9223372036854775808.x"} {
		if got, ok := store.ParseCursor(bad); ok || got != (store.Cursor{}) {
			t.Errorf("%q: %+v, %v", bad, got, ok)
		}
	}
}

func FuzzParseCursor(f *testing.F) {
	for _, seed := range []string{"", "1795262400000000000.p3XQ0w5mTkq7sJ1vYb2c9A", "-1.x", "0.a.b", "1.", "01.x", "1e9.x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := store.ParseCursor(s)
		if !ok {
			if c != (store.Cursor{}) {
				t.Errorf("%q: refused, yet %+v; want %+v", s, c, store.Cursor{})
			}
			return
		}
		if got := c.String(); got != s {
			t.Errorf("%q became %q", s, got)
		}
	})
}
