package lines

import (
	"regexp"
	"strings"
)

var (
	// innerFormula is the beginning of a formula after a character at which a spreadsheet of another locale may split the line.
	innerFormula = regexp.MustCompile(`([;,|\t\r\n]"*)([=+\-@])`)
	// negative is a negative number, or a negative amount with its currency.
	negative = regexp.MustCompile(`^-[0-9.]+( [A-Z]+)?$`)
)

// CSV returns s as a CSV value. A spreadsheet may evaluate a value that begins with = + - @, a tab, CR or LF as a formula, and agents
// choose some of the values. CSV puts an apostrophe before such a value, so that spreadsheets treat the value as plain text. It does the
// same inside s after ; , | a tab, CR and LF, because spreadsheets of some locales split a line there. Negative numbers and amounts stay
// unchanged.
func CSV(s string) string {
	if s == "" || negative.MatchString(s) {
		return s
	}
	if strings.ContainsRune("=+-@\t\r\n", rune(s[0])) {
		return "'" + s[:1] + guarded(s[1:])
	}
	return guarded(s)
}

func guarded(s string) string { return innerFormula.ReplaceAllString(s, "${1}'${2}") }
