// Package trace places requests and calls in the traces of their senders (W3C Trace Context, version 00, section 3.2).
package trace

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// A Span is a span of the gateway in a trace. The zero Span means that there is none.
type Span struct {
	traceparent string // version, trace id, id of this span, flags
	parent      string // id of the parent span; empty: the span is the root of its trace
}

// Continue returns a new span in the trace of a sender. If the string is not a traceparent of version 00, the span begins a new trace,
// which is not sampled. The span takes over only the ids and the flags of the sender, not tracestate and baggage.
func Continue(traceparent string) Span {
	if valid(traceparent) {
		return Span{traceparent: traceparent}.Child()
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	var space [55]byte
	text := hex.AppendEncode(append(space[:0], "00-"...), id[:])
	text = append(appendID(append(text, '-')), "-00"...)
	return Span{traceparent: string(text)}
}

// appendID appends the id of a new span.
func appendID(to []byte) []byte {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.AppendEncode(to, id[:])
}

// Child returns a new span under s, with the flags of s. The child of the zero Span is the zero Span.
func (s Span) Child() Span {
	if s.traceparent == "" {
		return Span{}
	}
	var space [55]byte
	text := append(appendID(append(space[:0], s.traceparent[:36]...)), s.traceparent[52:]...)
	return Span{traceparent: string(text), parent: s.ID()}
}

// Between returns the parent span of below, as a child of above. Both spans must be in the same trace. If above is zero or below has no
// parent, Between returns the zero Span.
func Between(above, below Span) Span {
	if above.traceparent == "" || below.parent == "" {
		return Span{}
	}
	return Span{traceparent: above.traceparent[:36] + below.parent + above.traceparent[52:], parent: above.ID()}
}

// Sample returns s with the flag sampled set or cleared.
func (s Span) Sample(sampled bool) Span {
	if s.traceparent == "" || s.Sampled() == sampled {
		return s
	}
	flags := "-00"
	if sampled {
		flags = "-01"
	}
	s.traceparent = s.traceparent[:52] + flags
	return s
}

// Traceparent returns the header field that makes a receiver continue the trace under s. It is empty for the zero Span.
func (s Span) Traceparent() string { return s.traceparent }

// TraceID returns the id of the trace, 32 hex digits. It is empty for the zero Span.
func (s Span) TraceID() string { return s.slice(3, 35) }

// ID returns the id of the span, 16 hex digits. It is empty for the zero Span.
func (s Span) ID() string { return s.slice(36, 52) }

// ParentID returns the id of the parent span, 16 hex digits. It is empty for the root of a trace.
func (s Span) ParentID() string { return s.parent }

// Sampled reports whether the flag sampled is set: receivers should export the trace.
func (s Span) Sampled() bool {
	const odd = "13579bdf" // the flag is the lowest bit of the last digit
	return s.traceparent != "" && strings.Contains(odd, s.slice(54, 55))
}

func (s Span) slice(from, to int) string {
	if s.traceparent == "" {
		return ""
	}
	return s.traceparent[from:to]
}

// valid reports whether p has the form 00-<32 hex>-<16 hex>-<2 hex>, with ids that are not zero.
func valid(p string) bool {
	if len(p) != 55 || p[:3] != "00-" || p[35] != '-' || p[52] != '-' {
		return false
	}
	traceID, spanID := p[3:35], p[36:52]
	return isHex(traceID) && isHex(spanID) && isHex(p[53:]) && !zero(traceID) && !zero(spanID)
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

func zero(digits string) bool { return strings.Trim(digits, "0") == "" }
