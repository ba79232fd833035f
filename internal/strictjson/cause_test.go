package strictjson_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
)

func TestCommonMistakesAreNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\"a\": [1, 2,]}":         "a comma after the last entry",
		"{\"a\": 1,\n}":            "a comma after the last entry",
		"{'a': 1}":                 "single quotes",
		"{\"a\": 'secret'}":        "single quotes",
		"// secret\n{}":            "a comment",
		"{\n# secret\n}":           "a comment",
		"{\"a\": 1\n \"b\": 2}":    "a comma or a colon is missing",
		"{\"a\": True}":            "text without double quotes",
		"{a: 1}":                   "text without double quotes",
		"\xef\xbb\xbf{}":           "byte order mark",
		"\xff\xfe{\x00}\x00":       "UTF-16",
		"\xfe\xff\x00{\x00}":       "UTF-16",
		"{\x00}\x00":               "UTF-16",
		"{\"a\": 1, \"b\": [2, 3}": "not valid JSON",
		"{\"a\": }":                "not valid JSON",
		"{\"a\": 1, \"a\": 2}":     "occurs twice",
		"[1, 2":                    "ends too early",
	} {
		_, err := strictjson.Decode([]byte(text))
		at, ok := errors.AsType[*strictjson.Error](err)
		if !ok || !strings.Contains(at.Reason, want) || strings.Contains(at.Reason, "secret") {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

// A problem at the place of a syntax error has the position of that error; any other problem has the position of its pointer.
func TestPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, pointer string
		line          int
	}{{"{\n\"a\":\n{'b': 1}}", "/a", 3}, {"{\n\"a\":\n{'b': 1}}", "/c", 1}, {"{\n\"a\": 1}", "/a", 2}, {"{\n\n,}", "", 3}} {
		if line, _ := strictjson.Place([]byte(c.text), c.pointer); line != c.line {
			t.Errorf("%q at %q: line %d; want %d", c.text, c.pointer, line, c.line)
		}
	}
}
