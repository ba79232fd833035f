package door

import (
	"mime"
	"net/http"
	"strconv"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

const (
	// attribution carries a notice in a parameter that is encoded as in RFC 8187, so that the notice can contain any Unicode text.
	attribution = "Uim-Attribution"
	license     = "Uim-License"
)

// WriteHeader sets the header fields that accompany the output of a call: limits, charge, replay, warnings, notices and license.
func WriteHeader(h http.Header, r *execute.Result) {
	wire.WriteRateLimit(h, r.Standing)
	wire.WriteCharge(h, r.Charge)
	wire.WriteReplayed(h, r.Replayed)
	wire.WriteWarnings(h, r.Warnings)
	wire.WriteNear(h, r.Near)
	WritePaid(h, r)
	WriteSunset(h, r.Sunset)
	for _, notice := range r.Attribution {
		h.Add(attribution, mime.FormatMediaType("attribution", map[string]string{"notice": notice}))
	}
	if r.License != "" {
		h.Set(license, r.License)
	}
}

// WritePaid sets the header fields for the payment that came with a call: its settlement and its receipt, or a warning that the gateway did
// not take it.
func WritePaid(h http.Header, r *execute.Result) {
	if r.PaymentIgnored {
		h.Add(wire.Warning, "payment-not-taken")
	}
	if r.Paid == nil {
		return
	}
	wire.WritePayment(h, nil, r.Paid.Receipt)
	if r.Paid.Entry != "" {
		h.Set(wire.TopUpReceipt, r.Paid.Entry)
	}
}

// WriteSunset sets the fields Deprecation, Sunset and Link of a response to a call whose intent or terms will end, unless s is nil. See RFC
// 9745, section 2; RFC 8594, section 3; RFC 5829, section 3.4.
func WriteSunset(h http.Header, s *service.Sunset) {
	if s == nil {
		return
	}
	if !s.Since.IsZero() {
		h.Set("Deprecation", "@"+strconv.FormatInt(s.Since.Unix(), 10))
	}
	h.Set("Sunset", s.From.UTC().Format(http.TimeFormat))
	if s.URL != "" {
		h.Add("Link", "<"+s.URL+`>; rel="successor-version"`)
	}
}

// Beside lists the header fields that WriteHeader and wire.WriteHeader set. Name is the member that carries a Field in protocols without
// header fields.
var Beside = []struct{ Name, Field string }{
	{"UIM-Charge", wire.Charge},
	{"UIM-Receipt", wire.Receipt},
	{"UIM-Top-Up-Receipt", wire.TopUpReceipt},
	{"RateLimit", "Ratelimit"},
	{"RateLimit-Policy", "Ratelimit-Policy"},
	{"Idempotency-Replayed", wire.Replayed},
	{"UIM-Warning", wire.Warning},
	{"UIM-Attribution", attribution},
	{"UIM-License", license},
	{"Deprecation", "Deprecation"},
	{"Sunset", "Sunset"},
}

// Challenged reports whether a client could avoid a refusal with another token. Clients recognize such a refusal by its status and
// Challenge.
func Challenged(f *reason.Refusal) bool { return challengeCode(f) != "" }

// Challenge returns the WWW-Authenticate field of a refusal, or an empty string if the refusal has none. The field contains the URL of the
// metadata for getting a token for the endpoint at path, and a scope that would suffice. See RFC 6750, section 3; RFC 9728, section 5.1.
func Challenge(s *service.Definition, path string, f *reason.Refusal) string {
	code := challengeCode(f)
	if code == "" {
		return ""
	}
	needed, ok := f.Details["scope_needed"].(string)
	if !ok {
		needed = pat.WholeScope(s.Issuer)
	}
	c := "Bearer realm=" + strconv.QuoteToASCII(s.Issuer) + `, resource_metadata="` + MetadataURL(s, path) + `", scope="` + needed + `"`
	if f.Reason == reason.MissingToken { // without credentials the challenge names no error: RFC 6750 3.1
		return c
	}
	return c + `, error="` + code + `", error_description="` + string(f.Reason) + `"`
}

func challengeCode(f *reason.Refusal) string {
	_, obtainable := f.Details["scope_needed"]
	switch {
	case f.Reason == reason.ScopeExceeded && obtainable, f.Reason == reason.InsufficientPermissions:
		return "insufficient_scope"
	case f.Reason == reason.PolicyRequiresAgreement, f.Status() == http.StatusUnauthorized: // the token is no longer usable
		return "invalid_token"
	default:
		return ""
	}
}

// MetadataURL returns the URL of the metadata of the protected resource at a path. See RFC 9728, section 3.1.
func MetadataURL(s *service.Definition, path string) string {
	return s.At("/.well-known/oauth-protected-resource" + path)
}
