package lines

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns untrusted text as one line that is safe to print: without control and format characters, and with single spaces in place
// of white space. If the line is longer than maxChars characters, Clean cuts it there and adds an ellipsis. It reads only the first
// 8*maxChars bytes.
func Clean(s string, maxChars int) string { return clean(s, maxChars, false) }

// CleanText is like Clean, but keeps line breaks and the number of spaces.
func CleanText(s string, maxChars int) string { return clean(s, maxChars, true) }

func clean(s string, maxChars int, breaks bool) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' && breaks:
			return r
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, unicode.Is(unicode.C, r):
			return -1
		}
		return r
	}, s[:min(len(s), 8*maxChars)])
	if s = strings.TrimSpace(s); !breaks {
		s = strings.Join(strings.Fields(s), " ")
	}
	if runes := []rune(s); len(runes) > maxChars {
		return strings.TrimRightFunc(string(runes[:maxChars]), unicode.IsSpace) + "…"
	}
	return s
}
