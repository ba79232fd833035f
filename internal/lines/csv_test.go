package lines_test

import (
	"testing"

	"github.com/uimgate/uimgate/internal/lines"
)

func TestCSVGuardsFormulas(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                     "",
		"agent-1":              "agent-1",
		"a=b;c d":              "a=b;c d",
		"=1":                   "'=1",
		`x;=HYPERLINK("e")`:    `x;'=HYPERLINK("e")`,
		`x;"=1+1"`:             `x;"'=1+1"`,
		"x,@SUM(A1)|-1":        "x,'@SUM(A1)|'-1",
		"x\n+1":                "x\n'+1",
		";=1":                  ";'=1",
		"-0.25":                "-0.25",
		"-5.00 EUR":            "-5.00 EUR",
		"-5.00 EUR;=1":         "'-5.00 EUR;'=1",
		"-1+cmd|' /C calc'!A0": "'-1+cmd|' /C calc'!A0",
	} {
		if got := lines.CSV(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}
