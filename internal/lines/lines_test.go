package lines_test

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/uimgate/uimgate/internal/lines"
)

func TestRead(t *testing.T) {
	t.Parallel()
	const most = 40
	long := strings.Repeat("x", most)
	for name, tt := range map[string]struct {
		in   string
		want []string // "!" is ErrTooLong
	}{
		"nothing":              {"", nil},
		"an empty line":        {"\n", []string{""}},
		"both ends of lines":   {"a\r\nb\n", []string{"a", "b"}},
		"no end at the end":    {"a\nb", []string{"a", "b"}},
		"the longest line":     {long[1:] + "\nb\n", []string{long[1:], "b"}},
		"one byte more":        {long + "\nb\n", []string{"!", "b"}},
		"too long, and no end": {"a\n" + long + "x", []string{"a", "!"}},
		"much too long":        {strings.Repeat(long, 10) + "\nb", []string{"!", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(tt.in)), 16)
			var got []string
			for {
				line, err := lines.Read(r, most)
				if errors.Is(err, io.EOF) {
					break
				}
				if errors.Is(err, lines.ErrTooLong) {
					line = []byte("!")
				} else if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(line))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	broken := bufio.NewReader(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrClosedPipe)))
	if line, err := lines.Read(broken, most); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a reader that fails: got %q, %v, want %v", line, err, io.ErrClosedPipe)
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "a b": "a b", "a\x1b[1mb\n": "a?[1mb?", "é\u202e": "??", "12345678": "12345", "\xff\xfe": "??", "日本語日本語": "?????",
	} {
		if got := lines.Printable(text, 5+len("[1m")*strings.Count(text, "\x1b")); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
