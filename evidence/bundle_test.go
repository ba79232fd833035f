package evidence

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
)

// A bundle never exceeds a bound of the verifiers. The error names the bound, and what was written before it is a whole line.
func TestBundleStaysWithinTheBoundsOfVerifiers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bounds bundleBounds
		lines  int
		want   string // empty: the bundle is complete
	}{
		"within":             {bundleBounds{4, 1000, 300, 400}, 4, ""},
		"too many lines":     {bundleBounds{3, 1000, 300, 400}, 3, "more than 3 lines"},
		"a long line":        {bundleBounds{4, 1000, 150, 400}, 1, "line 2 of the type entry"},
		"a long document":    {bundleBounds{4, 1000, 300, 150}, 2, "line 3 of the type policy"},
		"too many bytes":     {bundleBounds{4, 500, 300, 400}, 2, "more than 500 bytes"},
		"exactly these many": {bundleBounds{4, 774, 300, 400}, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			b := NewBundleWriter(&out, BundleHeader{})
			b.bounds = c.bounds
			b.Entry(strings.Repeat("e", 200))
			b.Policy("p", "d", bytes.Repeat([]byte{'d'}, 150))
			b.Entry("f")
			total := b.size
			err := b.Close()
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrBundleTooLarge) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			r, err := gzip.NewReader(&out)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if got := bytes.Count(text, []byte("\n")); got != c.lines || !bytes.HasSuffix(text, []byte("}\n")) || int64(len(text)) != total {
				t.Errorf("the bundle has %d lines and %d bytes, want %d lines and %d bytes:\n%s", got, len(text), c.lines, total, text)
			}
		})
	}
}
