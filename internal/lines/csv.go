package lines

import "strings"

// CSV returns s as a CSV value. A spreadsheet may evaluate a value that begins with = + - @, a tab, CR or LF as a formula, and agents
// choose some of the values. CSV puts an apostrophe before such a value, so that spreadsheets treat the value as plain text. Negative
// numbers stay unchanged.
func CSV(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r\n", rune(s[0])) {
		return s
	}
	if number := strings.TrimPrefix(s, "-"); number != s && number != "" && strings.Trim(number, "0123456789.") == "" {
		return s
	}
	return "'" + s
}
