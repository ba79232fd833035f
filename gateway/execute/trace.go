package execute

import (
	"crypto/rand"
	"encoding/hex"
	"regexp"
	"strings"
)

var traceparentForm = regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$`)

// Traceparent goes on with the caller's trace under a span of our own, or starts one. W3C Trace Context,
// section 3.2. Only the ids and the sampled flag are taken over; tracestate and baggage are not.
func Traceparent(parent string) string {
	var span [8]byte
	_, _ = rand.Read(span[:]) // never fails: crypto/rand
	if m := traceparentForm.FindStringSubmatch(parent); m != nil && !zero(m[1]) && !zero(m[2]) {
		return "00-" + m[1] + "-" + hex.EncodeToString(span[:]) + "-" + m[3]
	}
	var trace [16]byte
	_, _ = rand.Read(trace[:])
	return "00-" + hex.EncodeToString(trace[:]) + "-" + hex.EncodeToString(span[:]) + "-00"
}

func zero(hexDigits string) bool { return strings.Trim(hexDigits, "0") == "" }
