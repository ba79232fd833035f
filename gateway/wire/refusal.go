package wire

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/payments/x402"
)

// About holds the details of a refusal that concern its request. Empty members are omitted.
type About struct {
	RequestID string // identifies the request in the log
	HelpURL   string // URL of the page that explains the reason
}

// Envelope returns the JSON body of a refusal for an agent. See UIM core, section 3.3.
func Envelope(f *reason.Refusal, about About) []byte {
	return envelope(f, f.Suggestion(), about)
}

// OperatorEnvelope returns the JSON body of a refusal for an operator, with the suggestion for operators.
func OperatorEnvelope(f *reason.Refusal, about About) []byte {
	return envelope(f, f.Reason.OperatorSuggestion(), about)
}

func envelope(f *reason.Refusal, suggestion string, about About) []byte {
	details := map[string]any{"reason": f.Reason}
	if about.RequestID != "" {
		details["request_id"] = about.RequestID
	}
	if about.HelpURL != "" {
		details["help_url"] = about.HelpURL
	}
	if number := f.Reason.Number(); number != "" {
		details["uim_code"] = number
	}
	if suggestion != "" {
		details["suggestion"] = suggestion
	}
	if f.RetryAfter > 0 {
		details["retry_after"] = f.RetrySeconds()
	}
	maps.Copy(details, f.Details)
	if f.Charge != nil {
		details["charge"] = ChargeMembers(f.Charge)
	}
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"code": f.Code, "message": f.Message, "details": details,
	}})
	if err != nil {
		return Envelope(reason.Internal.Refusal("The response could not be encoded."), About{RequestID: about.RequestID})
	}
	return body
}

// WriteHeader sets the header fields of a refusal. realm is the realm of the challenge: the issuer of the tokens.
func WriteHeader(h http.Header, f *reason.Refusal, realm string) {
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(f.RetrySeconds(), 10))
	}
	if f.Status() == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenge(f.Reason, realm))
	}
	WriteTaken(h, f)
	WritePayment(h, f.Terms, f.Settlement)
}

// WritePayment sets the header fields of x402: how the agent can pay, and how a payment ended. Both are JSON; nil: not set.
func WritePayment(h http.Header, terms, settlement []byte) {
	if terms != nil {
		h.Set(x402.HeaderRequired, x402.Header(terms))
	}
	if settlement != nil {
		h.Set(x402.HeaderResponse, x402.Header(settlement))
	}
}

// WriteTaken sets the header fields for the limits and the charge of a refused call, and marks a replayed refusal.
func WriteTaken(h http.Header, f *reason.Refusal) {
	WriteRateLimit(h, f.Standing)
	WriteCharge(h, f.Charge)
	WriteReplayed(h, f.Replayed)
}

// challenge returns the WWW-Authenticate field (RFC 6750 section 3) of a refusal with status 401.
func challenge(r reason.Reason, realm string) string {
	c := `Bearer realm=` + strconv.QuoteToASCII(realm)
	if r != reason.MissingToken { // a challenge to a request without credentials contains no error code: RFC 6750 3.1
		c += `, error="invalid_token", error_description="` + string(r) + `"`
	}
	return c
}
