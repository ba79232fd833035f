package redact

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// layers is the maximum depth of nested escapes, such as those of a URL in HTML in JSON.
const layers = 2

// leads are the characters that start an escape.
const leads = `%\&`

// forms appends the lengths of all forms of the character r at the beginning of b, with at most layers nested escapes. There may be several
// forms: an escaped backslash in JSON also begins with an unescaped backslash.
func forms(out []int, b []byte, r rune, layers int) []int {
	if len(b) == 0 {
		return out
	}
	if layers > 0 && strings.IndexByte(leads, b[0]) >= 0 {
		var space [4]int
		for _, lead := range leads {
			for _, begin := range forms(space[:0], b, lead, layers-1) {
				out = afterLead(out, begin, lead, b, r, layers-1)
			}
		}
	}
	if b[0] < utf8.RuneSelf {
		if rune(b[0]) == r {
			out = append(out, 1)
		}
		return out
	}
	if got, size := utf8.DecodeRune(b); got == r && size > 1 {
		out = append(out, size)
	}
	return out
}

// afterLead appends the lengths of the escaped forms of r at the beginning of b. lead is the first character of the escape, and at is the
// position in b where lead ends.
func afterLead(out []int, at int, lead rune, b []byte, r rune, layers int) []int {
	switch lead {
	case '%':
		return percent(out, at, b, []byte(string(r)), layers)
	case '\\':
		return backslash(out, at, b, r, layers)
	default:
		if size := entity(b[at:], r); size > 0 {
			out = append(out, at+size)
		}
		return out
	}
}

// percent appends the lengths of the percent-encoded forms of the bytes utf (RFC 3986 section 2.1). at is the position after the first
// percent sign.
func percent(out []int, at int, b, utf []byte, layers int) []int {
	if !hexOf(b[at:], 2, rune(utf[0])) {
		return out
	}
	if at += 2; len(utf) == 1 {
		return append(out, at)
	}
	var space [4]int
	for _, lead := range forms(space[:0], b[at:], '%', layers) {
		out = percent(out, at+lead, b, utf[1:], layers)
	}
	return out
}

// short maps a character to the single character that represents it after a backslash in JSON or JavaScript.
var short = map[rune]rune{'"': '"', '\\': '\\', '/': '/', '\'': '\'', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// backslash appends the lengths of the escaped forms of r in JSON (RFC 8259 section 7) and JavaScript. at is the position after the
// backslash.
func backslash(out []int, at int, b []byte, r rune, layers int) []int {
	rest := b[at:]
	switch {
	case len(rest) == 0:
		return out
	case rest[0] == 'u' && r > 0xffff:
		high, low := utf16.EncodeRune(r)
		if !hexOf(rest[1:], 4, high) {
			return out
		}
		at += len("u0000")
		var space [4]int
		for _, lead := range forms(space[:0], b[at:], '\\', layers) {
			if second := b[at+lead:]; len(second) > 0 && second[0] == 'u' && hexOf(second[1:], 4, low) {
				out = append(out, at+lead+len("u0000"))
			}
		}
		return out
	case rest[0] == 'u' && hexOf(rest[1:], 4, r):
		return append(out, at+len("u0000"))
	case rest[0] == 'x' && hexOf(rest[1:], 2, r):
		return append(out, at+len("x00"))
	}
	if behind, ok := short[r]; ok {
		var space [4]int
		for _, size := range forms(space[:0], rest, behind, layers) {
			out = append(out, at+size)
		}
	}
	return out
}

// named are the named entities of HTML and XML.
var named = map[string]rune{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// entity returns the length of the rest of an HTML or XML entity for r, after the ampersand. It returns 0 if there is none.
func entity(b []byte, r rune) int {
	name, _, closed := strings.Cut(string(b[:min(len(b), len("#x10ffff;"))]), ";")
	if !closed {
		return 0
	}
	digits, isNumber := strings.CutPrefix(name, "#")
	if !isNumber {
		if plain, ok := named[name]; !ok || plain != r {
			return 0
		}
		return len(name) + 1
	}
	base := 10
	if hexadecimal := strings.TrimLeft(digits, "xX"); len(hexadecimal) == len(digits)-1 {
		digits, base = hexadecimal, 16
	}
	if n, err := strconv.ParseUint(digits, base, 32); err != nil || rune(n) != r {
		return 0
	}
	return len(name) + 1
}

// hexOf reports whether b begins with this number of hexadecimal digits, and their value is r.
func hexOf(b []byte, digits int, r rune) bool {
	if len(b) < digits || !isHex(b[:digits]) {
		return false
	}
	n, err := strconv.ParseUint(string(b[:digits]), 16, 32)
	return err == nil && rune(n) == r
}

func isHex(b []byte) bool {
	var out [2]byte
	_, err := hex.Decode(out[:], b)
	return err == nil
}
