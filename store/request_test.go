package store_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/store"
)

// ParseRequestCursor accepts only what String returns.
func FuzzParseRequestCursor(f *testing.F) {
	f.Add(store.RequestCursor{At: time.Unix(1, 5), Process: "host.example:1", Number: 7}.String())
	f.Add("")
	f.Add("1.2")
	f.Add("-1.+2.p")
	f.Fuzz(func(t *testing.T, text string) {
		if c, ok := store.ParseRequestCursor(text); ok && c.String() != text {
			t.Errorf("%q was read as %v", text, c)
		}
	})
}
