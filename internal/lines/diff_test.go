package lines_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/lines"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x\ny\n", 3000)
	for name, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"equal":        {"a\nb\n", "a\nb\n", nil},
		"a line":       {"a\nb\nc\n", "a\nB\nc\n", []string{"- b", "+ B"}},
		"two places":   {"a\nb\nc\nd\ne\n", "a\nc\nd\nE\ne\n", []string{"- b", "+ E"}},
		"from nothing": {"", "a\n", []string{"+ a"}},
		"to nothing":   {"a\n", "", []string{"- a"}},
		"the last end": {"a", "a\n", []string{"+ "}},
		"moved":        {"a\nb\n", "b\na\n", []string{"- a", "+ a"}},
	} {
		if got := lines.Diff(c.before, c.after); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := lines.Diff("1\n"+long+"2", "3\n"+long+"4"); len(got) < 4 || got[0] != "- 1" {
		t.Errorf("long texts: %d lines", len(got))
	}
}
