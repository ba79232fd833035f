package wire

import (
	"errors"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/payments/x402"
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

// Payment returns the payment in the header of a request, or nil if there is none. The error is a *reason.Refusal.
func Payment(h http.Header) (*x402.Payload, error) {
	values, sent := h[x402.HeaderSignature]
	if !sent {
		return nil, nil //nolint:nilnil // most requests have no payment
	}
	p, err := x402.ReadHeader(values[0])
	if err != nil {
		return nil, MalformedPayment(err)
	}
	return p, nil
}

// MalformedPayment returns the refusal of a request with a payment that cannot be read. err is that of x402.Read.
func MalformedPayment(err error) *reason.Refusal {
	f := reason.MalformedRequest.Refusal("The x402 payment cannot be read: " + err.Error() + ".").Because(err)
	if form, ok := errors.AsType[*x402.FormError](err); ok {
		f.With("pointer", form.Pointer)
	}
	return f
}

// RepeatedHeader returns the name of a header field that occurs more than once and is therefore ambiguous, or "" if there is none.
func RepeatedHeader(h http.Header) string {
	for _, name := range []string{"Authorization", "Idempotency-Key", "Uim-Proof", "Content-Type", x402.HeaderSignature} {
		if len(h[name]) > 1 {
			return name
		}
	}
	return ""
}
