package wire

import (
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/internal/reason"
)

// Bearer returns the token in the Authorization header, or "" if there is no such header. If the header does not contain a Bearer token,
// the error is a *reason.Refusal. See RFC 6750, section 2.1.
func Bearer(h http.Header) (string, error) {
	value := h.Get("Authorization")
	if value == "" {
		return "", nil
	}
	scheme, token, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", reason.InvalidToken.Refusal("The Authorization header must be: Bearer <PAT>.")
	}
	return strings.TrimSpace(token), nil
}

// RepeatedHeader returns the name of a header field that occurs more than once and is therefore ambiguous, or "" if there is none.
func RepeatedHeader(h http.Header) string {
	for _, name := range []string{"Authorization", "Idempotency-Key", "Uim-Proof", "Content-Type"} {
		if len(h[name]) > 1 {
			return name
		}
	}
	return ""
}
