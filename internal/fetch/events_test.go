package fetch_test

import (
	"slices"
	"testing"

	"github.com/uimgate/uimgate/internal/fetch"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string][]string{
		"":                                 nil,
		"data: a\n\n":                      {"a"},
		"data:a\n\ndata: b\n\n":            {"a", "b"},
		"data: a\r\n\r\ndata: b\r\r":       {"a", "b"},
		"data: a\ndata: b\n\n":             {"a\nb"},
		"event: x\nid: 1\ndata: a\n\n":     {"a"},
		": a comment\n\nretry: 10\n\n":     nil,
		"data: a\n\ndata: cut off":         {"a"},
		"data: a\n\ndata: not ended\n":     {"a"},
		"\ufeffdata: a\n\n":                {"a"},
		"data\n\ndata:\n\n":                nil,
		"data:  two spaces\n\nnodata: x\n": {" two spaces"},
	} {
		var got []string
		for _, data := range fetch.Events([]byte(stream)) {
			got = append(got, string(data))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", stream, got, want)
		}
	}
}
