package agent

import (
	"strings"
	"unicode"
)

// maxText is the maximum length of foreign text in errors, in characters.
const maxText = 500

// clean makes foreign text safe to print: it returns a single line of at most maxText characters, without control characters, which
// a terminal would interpret.
func clean(s string) string {
	if len(s) > 8*maxText {
		s = s[:8*maxText]
	}
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, ""), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029'
	}), " ")
	if runes := []rune(s); len(runes) > maxText {
		return string(runes[:maxText]) + "…"
	}
	return s
}

// codeName returns v if it has the form of a code of the protocol, and an empty string otherwise.
func codeName(v any) string {
	s, _ := v.(string)
	if len(s) > 64 || !onlyAlphanumericOr(s, "_-") {
		return ""
	}
	return s
}

// onlyAlphanumericOr reports whether a text consists of ASCII letters, digits and the given characters.
func onlyAlphanumericOr(s, others string) bool {
	for _, r := range s {
		letter := r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune(others, r) {
			return false
		}
	}
	return true
}

// identifier returns s if it has the form of a request id, and an empty string otherwise.
func identifier(s string) string {
	if len(s) > 64 || !onlyAlphanumericOr(s, "._-") {
		return ""
	}
	return s
}

// IsDigest reports whether a text has the form of a policy digest.
func IsDigest(s string) bool {
	rest, ok := strings.CutPrefix(s, "sha-256:")
	return ok && len(rest) == 43 && codeName(rest) == rest
}
