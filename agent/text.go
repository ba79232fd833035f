package agent

import (
	"strings"
	"unicode"
)

// maxText is the maximum length of text from services in errors, in characters.
const maxText = 500

// clean makes text from a service safe to print. It returns a single line without control characters, which a terminal would interpret. If
// the line is longer than maxText characters, clean cuts it there and adds an ellipsis.
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

// codeName returns v if it is a string in the form of a code of the protocol: at most 64 ASCII letters, digits, "_" and "-". Otherwise it
// returns an empty string.
func codeName(v any) string {
	s, _ := v.(string)
	if len(s) > 64 || !onlyAlphanumericOr(s, "_-") {
		return ""
	}
	return s
}

// onlyAlphanumericOr reports whether s consists only of ASCII letters, digits and the characters of others.
func onlyAlphanumericOr(s, others string) bool {
	for _, r := range s {
		letter := r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune(others, r) {
			return false
		}
	}
	return true
}

// identifier returns s if it has the form of a request id: at most 64 ASCII letters, digits, ".", "_" and "-". Otherwise it returns an
// empty string.
func identifier(s string) string {
	if len(s) > 64 || !onlyAlphanumericOr(s, "._-") {
		return ""
	}
	return s
}

// IsDigest reports whether s has the form of a policy digest: sha-256: and 43 characters of base64url.
func IsDigest(s string) bool {
	rest, ok := strings.CutPrefix(s, "sha-256:")
	return ok && len(rest) == 43 && codeName(rest) == rest
}
