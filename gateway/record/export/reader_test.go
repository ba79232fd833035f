package export_test

import (
	"testing"

	"github.com/uimgate/uimgate/gateway/record/export"
)

// A text that ParseCursor accepts is read in the same way again.
func FuzzParseCursor(f *testing.F) {
	f.Add(export.Cursor{First: "ab", Offset: 7}.String())
	f.Add("")
	f.Add("e30")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := export.ParseCursor(text)
		if err != nil {
			return
		}
		again, err := export.ParseCursor(c.String())
		if err != nil || again.First != c.First || again.Offset != c.Offset || !again.At.Equal(c.At) || c.Offset < 0 {
			t.Errorf("%q: %v, then %v, %v", text, c, again, err)
		}
	})
}
