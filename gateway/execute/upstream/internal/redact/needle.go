package redact

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
)

// A needle is a secret, or its base64 form.
type needle struct {
	raw    []byte
	runes  []rune
	anchor []byte // the longest run of ASCII letters and digits; may be empty
	before int    // number of runes before anchor
	kind   kind
}

type kind int

const (
	text   kind = iota
	number      // could be a number in JSON
	coded       // base64
)

const (
	// leastCoded is the minimum length, in bytes, of a secret that is searched for in base64.
	leastCoded = 6
	// farthest is the maximum number of runes before an anchor.
	farthest = 64
	// longest is the maximum length of the escaped form of one rune, in bytes.
	longest = 20
)

// needlesOf returns the needles of a secret: the secret itself, and its base64 form for each of the three offsets that the secret can have
// in the encoded bytes.
func needlesOf(secret string) []*needle {
	kind := text
	if strings.Trim(secret, "0123456789+-.eE") == "" {
		kind = number
	}
	needles := []*needle{newNeedle(secret, kind)}
	if len(secret) < leastCoded {
		return needles
	}
	for ahead := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, ahead), secret...))
		whole := encoded[(8*ahead+5)/6 : 8*(ahead+len(secret))/6] // only the characters that do not depend on other bytes
		needles = append(needles, newNeedle(whole, coded))
	}
	return needles
}

func newNeedle(secret string, kind kind) *needle {
	n := &needle{raw: []byte(secret), runes: []rune(secret), kind: kind}
	for from := 0; from < min(len(n.runes), farthest); from++ {
		end := from
		for end < len(n.runes) && end-from < mostAnchor && isAlphanumeric(n.runes[end]) {
			end++
		}
		if end-from > len(n.anchor) {
			n.anchor, n.before = []byte(string(n.runes[from:end])), from
		}
	}
	return n
}

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || isDigit(r)
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// from returns the end of the longest form of the needle in b that begins at start. It returns 0 if there is none.
func (n *needle) from(b []byte, start int) (end int) {
	var space [mostEnds]int
	for _, length := range n.match(space[:0], b[start:], n.runes) {
		end = max(end, start+length)
	}
	if end == 0 || !n.stands(b, start, end) {
		return 0
	}
	return end
}

// around returns the start and end of the needle in b if the anchor of the needle begins at the position at. Otherwise it returns 0, 0.
func (n *needle) around(b []byte, at int) (start, end int) {
	for start = at - n.before; start >= max(0, at-longest*n.before); start-- {
		var space [mostEnds]int
		if n.before > 0 && !slices.Contains(n.match(space[:0], b[start:at], n.runes[:n.before]), at-start) {
			continue
		}
		if end = n.from(b, start); end > 0 {
			return start, end
		}
	}
	return 0, 0
}

// mostEnds is the maximum number of positions at which the beginning of a needle may end.
const mostEnds = 8

// match appends the lengths of all forms of these runes at the beginning of b.
func (n *needle) match(out []int, b []byte, runes []rune) []int {
	var here, next [mostEnds]int
	at := append(here[:0], 0)
	for _, r := range runes {
		further := next[:0]
		for _, place := range at {
			further = n.step(further, place, b[place:], r)
		}
		if len(further) == 0 {
			return out
		}
		at = append(here[:0], further...)
	}
	return append(out, at...)
}

// step appends the positions at which the forms of a rune end if the rune starts at place. b starts at place.
func (n *needle) step(out []int, place int, b []byte, r rune) []int {
	var space [mostEnds]int
	lengths := forms(space[:0], b, r, layers)
	if other := n.other(r); other != r {
		lengths = forms(lengths, b, other, layers)
	}
	for _, length := range lengths {
		if end := place + length; len(out) < mostEnds && !slices.Contains(out, end) {
			out = append(out, end)
		}
	}
	return out
}

// other returns the character that may replace a rune: its counterpart in the base64 alphabet for URLs (RFC 4648 section 5), or + for a
// space in a query. It returns r if there is none.
func (n *needle) other(r rune) rune {
	switch {
	case n.kind == coded && r == '+':
		return '-'
	case n.kind == coded && r == '/':
		return '_'
	case r == ' ':
		return '+'
	default:
		return r
	}
}

// stands reports whether a match is valid: the digits of a number must not be part of a longer number.
func (n *needle) stands(b []byte, start, end int) bool {
	if n.kind != number {
		return true
	}
	return (start == 0 || !isDigit(rune(b[start-1]))) && (end == len(b) || !isDigit(rune(b[end])))
}

// A match is a needle and its position.
type match struct {
	needle     *needle
	start, end int
}

// mask overwrites the match in b, but does not break JSON escapes that it overlaps.
func (f match) mask(b []byte) {
	start, end := pastEscape(b, f.start), f.end
	if endsWithLead(b[:end]) {
		end--
	}
	for i := start; i < end; i++ {
		switch {
		case f.needle.kind == coded:
			b[i] = 'A'
		case f.needle.kind == text:
			b[i] = '*'
		case isDigit(rune(b[i])): // not 0, because a JSON number must not start with 0
			b[i] = '9'
		}
	}
}

// pastEscape returns start, or the end of a JSON escape if start lies within that escape: "\nabc" does not contain "nabc".
func pastEscape(b []byte, start int) int {
	for lead := max(0, start-len(`\u000`)); lead < start; lead++ {
		if !endsWithLead(b[:lead+1]) {
			continue
		}
		length := len(`\n`)
		if hex := b[lead+1:]; len(hex) > 4 && hex[0] == 'u' && isHex(hex[1:5]) {
			length = len(`\u0000`)
		}
		if lead+length > start {
			return lead + length
		}
	}
	return start
}

// endsWithLead reports whether the last byte of b starts a JSON escape.
func endsWithLead(b []byte) bool {
	return (len(b)-len(bytes.TrimRight(b, `\`)))%2 == 1
}
