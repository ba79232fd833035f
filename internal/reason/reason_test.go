package reason_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/reason"
)

// wire is the contract with agents: the code, the status and the number of each reason. See UIM core, section 3.3.
var wire = map[string]struct {
	code   string
	status int
	number string
}{
	"MISSING_TOKEN": {"UNAUTHORIZED", 401, "UIM-AUT-003"},
	"INVALID_TOKEN": {"UNAUTHORIZED", 401, "UIM-AUT-001"},
	"EXPIRED_TOKEN": {"UNAUTHORIZED", 401, "UIM-AUT-002"},
	"REVOKED_TOKEN": {"UNAUTHORIZED", 401, ""},

	"INSUFFICIENT_PERMISSIONS":     {"FORBIDDEN", 403, "UIM-AUZ-001"},
	"SCOPE_EXCEEDED":               {"FORBIDDEN", 403, "UIM-AUZ-002"},
	"POLICY_VIOLATION":             {"FORBIDDEN", 403, "UIM-POL-002"},
	"POLICY_EXPIRED":               {"FORBIDDEN", 403, "UIM-POL-004"},
	"POLICY_NOT_APPLICABLE":        {"FORBIDDEN", 403, "UIM-POL-005"},
	"POLICY_REQUIRES_AGREEMENT":    {"FORBIDDEN", 403, "UIM-POL-007"},
	"POLICY_REQUIRES_VERIFICATION": {"FORBIDDEN", 403, "UIM-POL-010"},
	"PROOF_REPLAYED":               {"FORBIDDEN", 403, ""},
	"AGENT_BLOCKED":                {"FORBIDDEN", 403, ""},
	"FRESH_AGREEMENT_REQUIRED":     {"FORBIDDEN", 403, ""},

	"POLICY_MISMATCH":       {"POLICY_REJECTED", 403, "UIM-POL-003"},
	"AGREEMENT_REPLAYED":    {"POLICY_REJECTED", 403, ""},
	"AGREEMENT_STALE":       {"POLICY_REJECTED", 403, ""},
	"AGREEMENT_MISDIRECTED": {"POLICY_REJECTED", 403, ""},

	"BAD_SIGNATURE":   {"INVALID_SIGNATURE", 400, "UIM-AUT-004"},
	"WEAK_KEY":        {"INVALID_SIGNATURE", 400, ""},
	"UNSUPPORTED_KEY": {"INVALID_SIGNATURE", 400, ""},

	"RATE_LIMIT_EXCEEDED": {"TOO_MANY_REQUESTS", 429, "UIM-AUZ-004"},
	"QUOTA_EXCEEDED":      {"TOO_MANY_REQUESTS", 429, "UIM-AUZ-005"},
	"SERVICE_CEILING":     {"TOO_MANY_REQUESTS", 429, ""},
	"RESTORED_LIMITS":     {"TOO_MANY_REQUESTS", 429, ""},

	"POLICY_REQUIRES_PAYMENT": {"PAYMENT_REQUIRED", 402, "UIM-POL-008"},
	"PAYMENT_USED":            {"CONFLICT", 409, ""},
	"PAYMENT_UNKNOWN":         {"CONFLICT", 409, ""},
	"NEWCOMERS_EXHAUSTED":     {"PAYMENT_REQUIRED", 402, ""},
	"PAYMENT_MISMATCH":        {"PAYMENT_REQUIRED", 402, ""},
	"PAYMENT_FAILED":          {"PAYMENT_REQUIRED", 402, ""},

	"POLICY_CONFLICT":         {"CONFLICT", 409, "UIM-POL-006"},
	"AGENT_ID_TAKEN":          {"CONFLICT", 409, ""},
	"KEY_TAKEN":               {"CONFLICT", 409, ""},
	"IDEMPOTENCY_KEY_REUSED":  {"CONFLICT", 409, ""},
	"IDEMPOTENCY_IN_PROGRESS": {"CONFLICT", 409, ""},
	"OUTCOME_UNKNOWN":         {"CONFLICT", 409, ""},
	"UPSTREAM_REJECTED":       {"CONFLICT", 409, ""}, // or INVALID_PARAMETER 400, NOT_FOUND 404: see below

	"MISSING_PARAMETER":      {"INVALID_PARAMETER", 400, "UIM-VAL-001"},
	"INVALID_PARAMETER":      {"INVALID_PARAMETER", 400, "UIM-VAL-002"},
	"INVALID_FORMAT":         {"INVALID_PARAMETER", 400, "UIM-VAL-003"},
	"PARAMETER_TOO_LONG":     {"INVALID_PARAMETER", 400, "UIM-VAL-006"},
	"PARAMETER_TOO_SHORT":    {"INVALID_PARAMETER", 400, "UIM-VAL-007"},
	"PARAMETER_OUT_OF_RANGE": {"INVALID_PARAMETER", 400, "UIM-VAL-008"},
	"INVALID_ENUM_VALUE":     {"INVALID_PARAMETER", 400, "UIM-VAL-009"},
	"UNKNOWN_PARAMETER":      {"INVALID_PARAMETER", 400, ""},
	"UNKNOWN_PLAN":           {"INVALID_PARAMETER", 400, ""},

	"INTENT_NOT_FOUND":  {"NOT_FOUND", 404, "UIM-INT-001"},
	"VERSION_CONFLICT":  {"VERSION_CONFLICT", 400, ""},
	"INTENT_DEPRECATED": {"INTENT_DEPRECATED", 410, ""},

	"RECEIPT_NOT_FOUND": {"NOT_FOUND", 404, ""},
	"EVIDENCE_EXPIRED":  {"GONE", 410, ""},
	"NOT_LOGGED_YET":    {"NOT_FOUND", 404, ""},

	"BUDGET_EXCEEDED":       {"FORBIDDEN", 403, ""},
	"CONFIRMATION_REQUIRED": {"FORBIDDEN", 403, ""},
	"PLAN_REQUIRED":         {"FORBIDDEN", 403, ""},
	"STOPPED":               {"SERVICE_UNAVAILABLE", 503, ""},
	"STORE_UNAVAILABLE":     {"SERVICE_UNAVAILABLE", 503, "UIM-SRV-007"},
	"BREAKER_OPEN":          {"SERVICE_UNAVAILABLE", 503, "UIM-SRV-002"},
	"OVERLOADED":            {"SERVICE_UNAVAILABLE", 503, ""},
	"GRANT_EXPIRED":         {"SERVICE_UNAVAILABLE", 503, ""},
	"UPSTREAM_BUSY":         {"SERVICE_UNAVAILABLE", 503, ""},
	"UPSTREAM_TIMEOUT":      {"GATEWAY_TIMEOUT", 504, "UIM-INT-003"},
	"UPSTREAM_UNREACHABLE":  {"BAD_GATEWAY", 502, "UIM-SRV-004"},
	"UPSTREAM_ERROR":        {"INTENT_EXECUTION_FAILED", 502, "UIM-INT-002"},
	"RESPONSE_INVALID":      {"INTENT_EXECUTION_FAILED", 502, ""},

	"MALFORMED_REQUEST":      {"INVALID_PARAMETER", 400, ""},
	"BODY_TOO_LARGE":         {"PAYLOAD_TOO_LARGE", 413, ""},
	"UNSUPPORTED_MEDIA_TYPE": {"UNSUPPORTED_MEDIA_TYPE", 415, ""},
	"METHOD_NOT_ALLOWED":     {"METHOD_NOT_ALLOWED", 405, ""},
	"NO_SUCH_PATH":           {"NOT_FOUND", 404, ""},
	"UNKNOWN_HOST":           {"NOT_FOUND", 404, ""},
	"ORIGIN_NOT_ALLOWED":     {"FORBIDDEN", 403, ""},
	"TOO_MANY_CONNECTIONS":   {"TOO_MANY_REQUESTS", 429, ""},
	"REQUEST_TIMEOUT":        {"REQUEST_TIMEOUT", 408, ""},
	"INTERNAL":               {"INTERNAL_SERVER_ERROR", 500, ""},

	// Sent by the admin API only.
	"HOST_NOT_ALLOWED": {"FORBIDDEN", 403, ""},
	"NO_SUCH_RECORD":   {"NOT_FOUND", 404, ""},
	"UNKNOWN_SERVICE":  {"NOT_FOUND", 404, ""},
	"SERVICE_MISSING":  {"INVALID_PARAMETER", 400, ""},
	"ALREADY_SETTLED":  {"CONFLICT", 409, ""},
	"REFERENCE_USED":   {"CONFLICT", 409, ""},
	"PERIOD_FORGOTTEN": {"INVALID_PARAMETER", 422, ""},
	"EVIDENCE_INVALID": {"INTERNAL_SERVER_ERROR", 500, ""},
	"CONFIG_REFUSED":   {"CONFIGURATION_REFUSED", 422, ""},
	"NOT_OFFERED":      {"NOT_FOUND", 404, ""},
	"POLICY_NOT_SAVED": {"CONFLICT", 409, ""},
}

func TestTableMatchesWireContract(t *testing.T) {
	all := reason.All()
	if len(all) != len(wire) {
		t.Errorf("the table has %d reasons, want %d", len(all), len(wire))
	}
	for _, r := range all {
		want, listed := wire[string(r)]
		if !listed {
			t.Errorf("%s is in the table, but not in wire", r)
			continue
		}
		if string(r.Code()) != want.code || r.Status() != want.status || r.Number() != want.number {
			t.Errorf("%s: got %s %d %q, want %s %d %q", r, r.Code(), r.Status(), r.Number(), want.code, want.status, want.number)
		}
		if r.Message() == "" || r.Suggestion() == "" || r.OperatorSuggestion() == "" {
			t.Errorf("%s: got the message %q and the suggestion %q, want both", r, r.Message(), r.Suggestion())
		}
	}
}

func TestRefusalFields(t *testing.T) {
	f := reason.ScopeExceeded.Refusal("").With("scope_needed", "a:b:v1:execute").After(time.Second).Because(io.EOF)
	if f.Reason != reason.ScopeExceeded || f.Code != reason.CodeForbidden || f.Message != reason.ScopeExceeded.Message() ||
		f.RetryAfter != time.Second {
		t.Errorf("got %+v", f)
	}
	if diff := cmp.Diff(map[string]any{"scope_needed": "a:b:v1:execute"}, f.Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	if !errors.Is(f, io.EOF) {
		t.Error("the Refusal does not wrap its cause")
	}
	if got, want := f.Error(), "SCOPE_EXCEEDED: "+reason.ScopeExceeded.Message(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUpstreamRejectedStatuses(t *testing.T) {
	for code, want := range map[reason.Code]int{
		reason.CodeInvalidParameter: http.StatusBadRequest, reason.CodeNotFound: http.StatusNotFound, reason.CodeConflict: http.StatusConflict,
		reason.CodeForbidden: http.StatusInternalServerError, // none of the three
	} {
		if got := reason.UpstreamRejected.Refusal("").WithCode(code).Status(); got != want {
			t.Errorf("%s: got %d, want %d", code, got, want)
		}
	}
}

func TestOwnSuggestionReplacesTheTables(t *testing.T) {
	f := reason.ResponseInvalid.Refusal("")
	if f.Suggestion() != reason.ResponseInvalid.Suggestion() {
		t.Errorf("got %q", f.Suggestion())
	}
	if got := f.With("suggestion", "Do not call again.").Suggestion(); got != "Do not call again." {
		t.Errorf("got %q, want %q", got, "Do not call again.")
	}
}

func TestSuggestionFillsInDetails(t *testing.T) {
	for want, f := range map[string]*reason.Refusal{
		"Wait 90 seconds.": reason.RateLimitExceeded.Refusal("").After(90 * time.Second),
		"Wait 1 second.":   reason.RateLimitExceeded.Refusal("").After(time.Millisecond),
		"Wait a while.":    reason.RateLimitExceeded.Refusal(""),
		"Use one of these versions: a:b:v1, a:b:v2.": reason.VersionConflict.Refusal("").With("versions", []string{"a:b:v1", "a:b:v2"}),
		"The outcome of the call is not_sent. If it is unknown, repeat the same request with the same Idempotency-Key, and never with a new one; an intent that only reads can be called again.": reason.UpstreamTimeout.Refusal("").With("outcome", "not_sent"),
		reason.IntentDeprecated.Suggestion(): reason.IntentDeprecated.Refusal(""),
	} {
		if got := f.Suggestion(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSuggestionNamesViolationsOnlyIfPresent(t *testing.T) {
	for _, r := range reason.All() {
		if s := r.Refusal("").Suggestion(); strings.Contains(s, "violations") {
			t.Errorf("%s suggests %q, and there are none", r, s)
		}
		s := r.Refusal("").With("violations", []string{"one"}).Suggestion()
		if strings.Contains(r.Suggestion(), "violations") && s != r.Suggestion() {
			t.Errorf("%s suggests %q", r, s)
		}
	}
}

func TestUnknownReasonIsInternal(t *testing.T) {
	f := reason.Reason("MISPELT").Refusal("")
	if f.Reason != reason.Internal || f.Status() != http.StatusInternalServerError {
		t.Errorf("got %+v", f)
	}
}
