// Package trace holds the grammar of traceparent. W3C Trace Context, version 00, section 3.2.
package trace

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// A Parent is a traceparent: version, trace id, span id and flags. The zero Parent means that there is none.
type Parent string

// Continue continues the caller's trace with a span of our own. It starts a trace if parent is not of version 00. It copies only the ids
// and the flags, not tracestate and baggage.
func Continue(parent string) Parent {
	var span [8]byte
	_, _ = rand.Read(span[:]) // never fails: crypto/rand
	if p := Parent(parent); p.Valid() && !zero(p.trace()) && !zero(p.span()) {
		return p[:36] + Parent(hex.EncodeToString(span[:])) + p[52:]
	}
	var trace [16]byte
	_, _ = rand.Read(trace[:])
	var space [55]byte
	text := hex.AppendEncode(append(space[:0], "00-"...), trace[:])
	text = hex.AppendEncode(append(text, '-'), span[:])
	return Parent(append(text, "-00"...))
}

// Valid reports whether p has the form 00-<32 hex>-<16 hex>-<2 hex>.
func (p Parent) Valid() bool {
	if len(p) != 55 || p[:3] != "00-" || p[35] != '-' || p[52] != '-' {
		return false
	}
	return isHex(p.trace()) && isHex(p.span()) && isHex(string(p[53:]))
}

func (p Parent) trace() string { return string(p[3:35]) }

func (p Parent) span() string { return string(p[36:52]) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

func zero(digits string) bool { return strings.Trim(digits, "0") == "" }
