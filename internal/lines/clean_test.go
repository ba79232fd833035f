package lines_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/lines"
)

func TestClean(t *testing.T) {
	for _, test := range []struct {
		text          string
		line, several string
	}{
		{"", "", ""},
		{" a \t b\nc ", "a b c", "a   b\nc"},
		{"\x1b[31mred\u202e\u200b\xff", "[31mred", "[31mred"},
		{"é€ 12345678", "é€ 12345…", "é€ 12345…"},
		{"1234567 90", "1234567…", "1234567…"},
	} {
		most := 8
		if line := lines.Clean(test.text, most); line != test.line {
			t.Errorf("Clean(%q): %q, want %q", test.text, line, test.line)
		}
		if text := lines.CleanText(test.text, most); text != test.several {
			t.Errorf("CleanText(%q): %q, want %q", test.text, text, test.several)
		}
	}
	if line := lines.Clean(strings.Repeat("\x00", 1<<20), 8); line != "" {
		t.Errorf("control characters: %q", line)
	}
}
