package api

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the maximum length of the name of an agent, in characters.
const MaxName = 200

// Printable reports whether s has only printable characters, which excludes newlines. The empty string is printable.
func Printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// NameFault returns the reason why a name is invalid, or an empty string if it is valid. In tables and invoices, a name must not break the
// line, reorder the surrounding text or contain invisible characters.
func NameFault(name string) string {
	switch {
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > MaxName:
		return "must be UTF-8 text of at most 200 characters"
	case name != "" && strings.TrimSpace(name) != name:
		return "must not begin or end with a space"
	case strings.ContainsFunc(name, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) || r == unicode.ReplacementChar
	}):
		return "must not contain control characters, invisible characters, or characters that change the direction of text"
	}
	return ""
}
