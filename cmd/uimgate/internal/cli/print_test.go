package cli

import (
	"encoding/csv"
	"strings"
	"testing"
)

// A spreadsheet must not evaluate a name that an agent chose.
func TestCSVHasNoFormulas(t *testing.T) {
	texts := map[string]string{
		`=HYPERLINK("http://evil.example")`: `'=HYPERLINK("http://evil.example")`,
		"+1":                                "'+1",
		"-2+3":                              "'-2+3",
		"-":                                 "'-",
		"@SUM(A1)":                          "'@SUM(A1)",
		"\t=1":                              "'\t=1",
		"\r=1":                              "'\r=1",
		"-0.25":                             "-0.25", // a balance
		"agent-1":                           "agent-1",
		"a=b":                               "a=b",
		"":                                  "",
	}
	for given, want := range texts {
		var out strings.Builder
		columns := []Column[string]{{Name: "name", Exact: func(s string) string { return s }}, {Name: "n", Exact: func(string) string { return "1" }}}
		if err := PrintCSV(&out, []string{given}, columns, true); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		if err != nil || len(rows) != 2 || rows[1][0] != want {
			t.Errorf("%q: got %q, %v; want no error, length 2 and [1][0] %v", given, rows, err, want)
		}
	}
}

func TestSanitizeControlCharacters(t *testing.T) {
	t.Parallel()
	if got := Sanitize("a\x1b[31mb\x07\u202e\tc"); strings.ContainsAny(got, "\x1b\x07\t\u202e") {
		t.Errorf("got %q", got)
	}
	for text, want := range map[string]string{"abc-1.x:2": "abc-1.x:2", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'"} {
		if got := ShellQuote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
