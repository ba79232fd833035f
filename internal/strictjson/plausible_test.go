package strictjson_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
)

func TestPlausible(t *testing.T) {
	long := strings.Repeat(`{"a":[1,{"b":"c"},[]],"d":null},`, 1000)
	long = long[:len(long)-1]
	for name, tt := range map[string]struct {
		document string
		want     bool
	}{
		"short":                    {`{"a":1}`, true},
		"short, a name twice":      {`{"a":1,"a":2}`, false},
		"short, a text":            {`"a"`, true},
		"a long list":              {"[" + long + "]", true},
		"a long object":            {`{"items":[` + long + `],"n":1}`, true},
		"deep inside":              {strings.Repeat(`{"x":[`, 20) + long + strings.Repeat(`]}`, 20), true},
		"too deep":                 {strings.Repeat(`[`, 100) + long + strings.Repeat(`]`, 100), false},
		"a long text in a list":    {`["` + strings.Repeat("a", 9000) + `"]`, true},
		"a long text":              {`"` + strings.Repeat("a", 9000) + `"`, false},
		"a long number":            {strings.Repeat("1", 9000), false},
		"HTML":                     {"<html>" + strings.Repeat("a", 9000) + "</html>", false},
		"HTML in braces":           {"{<html>" + strings.Repeat("a", 9000) + "</html>}", false},
		"cut off":                  {"[" + long, false},
		"the wrong end":            {"[" + long + "}", false},
		"an end too many":          {"[" + long[:2000] + "]]" + strings.Repeat(" ", 9000) + "]", false},
		"a name twice at the head": {`{"a":1,"a":[` + long + `]}`, false},
		"a comma too many":         {`[1,,` + long + `]`, false},
		"over early":               {`[1] ` + strings.Repeat(" ", 9000), true},
		"over early, then more":    {`[1] ` + strings.Repeat(" ", 9000) + "]", false},
		"nothing":                  {"", false},
		"spaces":                   {strings.Repeat(" ", 9000), false},
		"invalid at the end":       {"[" + long + `,"` + "\xff" + `"]`, true},
	} {
		if got := strictjson.Plausible([]byte(tt.document)); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}

// Plausible accepts the documents that Decode accepts, except those with long scalars. Decode accepts every short document that Plausible
// accepts.
func FuzzPlausible(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2]}`, `[]`, `[[[`, `{"a":1,"a":2}`, `"x"`, ` [1] `} {
		f.Add([]byte(seed), 0)
		f.Add([]byte(seed), 5000)
	}
	f.Fuzz(func(t *testing.T, part []byte, n int) {
		document := "[" + strings.Repeat(" ", min(max(0, n), 10_000)) + string(part) + strings.Repeat(",7", min(max(0, n), 10_000)) + "]"
		_, err := strictjson.Decode([]byte(document))
		if got := strictjson.Plausible([]byte(document)); err == nil && !got || got && err != nil && len(document) <= 4096 {
			t.Errorf("%t, %v: %.100q", got, err, document)
		}
	})
}
