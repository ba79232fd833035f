package agent

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/intents"
)

var (
	// ErrOptions means that a client cannot be made of these Options, or not used for this.
	ErrOptions = errors.New("the client's options do not allow this")
	// ErrTarget means that a text names no service.
	ErrTarget = errors.New("want the URL of an agents.json, an origin or a domain")
	// ErrNoService means that no agents.json was found.
	ErrNoService = errors.New("no agents.json was found")
	// ErrNotAgreed means that there is no PAT: agree first.
	ErrNotAgreed = errors.New("there is no agreement with this service: agree to its policy first")
	// ErrAnswer means that a service's answer cannot be used.
	ErrAnswer = errors.New("the service's answer cannot be used")
	// ErrParameters means that parameters cannot be sent as they are.
	ErrParameters = errors.New("these parameters cannot be sent")
	// ErrFile means that a key or session file cannot be used.
	ErrFile = errors.New("this file cannot be used")
)

// unreadable makes an ErrAnswer of why an answer could not be read. Such texts name members of the answer,
// so they are cleaned, and the error itself is left behind.
func unreadable(err error) error { return fmt.Errorf("%w: %s", ErrAnswer, clean(err.Error())) }

// A PolicyChangedError says that the service no longer offers the policy that was accepted. Nothing was
// signed. Read the policy offered now, and agree to it if it suits you.
type PolicyChangedError struct {
	Agreed, Offered string // digests; Offered is empty where the service did not say
	Cause           *Error // what the service answered; nil where the client saw it itself
}

func (e *PolicyChangedError) Error() string {
	if e.Offered == "" {
		return "the policy has changed: " + e.Agreed + " was accepted; the one offered now was not signed"
	}
	return "the policy has changed: " + e.Agreed + " was accepted, " + e.Offered + " is offered and was not signed"
}

// Unwrap returns the service's answer, if there is one.
func (e *PolicyChangedError) Unwrap() error {
	if e.Cause == nil {
		return nil
	}
	return e.Cause
}

// Is makes errors.Is(err, ErrPolicyRequiresAgreement) hold.
func (e *PolicyChangedError) Is(target error) bool {
	return target == error(ErrPolicyRequiresAgreement)
}

// A PendingError says that the service's operator has to approve the agent first. Agree again later, on
// the same Service or one resumed from its Session, to ask whether he did.
type PendingError struct{ AgreementID string }

func (e *PendingError) Error() string {
	return "the agreement " + e.AgreementID + " waits for the service's operator to approve it"
}

// An IssuerError says that a service claims to speak in a name that its address does not vouch for. An
// agreement made out to that name could be used there, at your cost. To agree nevertheless, set
// PolicySeen.Issuer to it.
type IssuerError struct{ Issuer, Host string }

func (e *IssuerError) Error() string {
	return fmt.Sprintf("%s asks for an agreement made out to %s, which is not its own name: nothing was signed", e.Host, e.Issuer)
}

// An Error is what a service answered instead of doing what was asked. UIM core 3.3. Its texts are a
// stranger's, cut to a sensible length and freed of control characters.
type Error struct {
	Status     int    // HTTP
	Code       string // such as INVALID_PARAMETER; empty where the service gives none
	Reason     string // details.reason, the exact cause; empty where the service gives none
	UIMCode    string // such as UIM-AUT-001
	Message    string
	Suggestion string
	Violations []intents.Violation
	RetryAfter time.Duration // 0: the service did not say
	Outcome    string        // not_sent, failed, done or unknown; empty: the service did not say
	Charge     *Charge
	RateLimit  *RateLimit
	RequestID  string
	Replayed   bool           // the answer of an earlier call under the same idempotency key
	Offered    string         // digest of the policy offered now, where it was told
	Details    map[string]any // all of error.details; a tree of package strictjson
	offeredUID string
	cause      error
}

func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Reason != "":
		b.WriteString(e.Reason)
	case e.Code != "":
		b.WriteString(e.Code)
	default:
		fmt.Fprintf(&b, "the service answered %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	return b.String()
}

// Unwrap is ErrAnswer where the service did what was asked and its answer cannot be used; else nil.
func (e *Error) Unwrap() error { return e.cause }

// Is compares with the sentinels below: by details.reason, or else (of services that give none) by code
// or status.
func (e *Error) Is(target error) bool {
	want, ok := target.(reasonError)
	if !ok {
		return false
	}
	if string(want) == e.Reason || e.Reason == "" && string(want) == e.Code {
		return true
	}
	status, ok := kinds[want]
	return ok && status == e.Status
}

// A reasonError is a details.reason (or a kind of them) to compare an *Error with.
type reasonError string

func (r reasonError) Error() string { return strings.ToLower(strings.ReplaceAll(string(r), "_", " ")) }

// Kinds of answers, by HTTP status, whatever their reason.
const (
	ErrUnauthorized    = reasonError("UNAUTHORIZED")        // 401
	ErrPaymentRequired = reasonError("PAYMENT_REQUIRED")    // 402
	ErrForbidden       = reasonError("FORBIDDEN")           // 403
	ErrNotFound        = reasonError("NOT_FOUND")           // 404
	ErrConflict        = reasonError("CONFLICT")            // 409
	ErrTooManyRequests = reasonError("TOO_MANY_REQUESTS")   // 429
	ErrUnavailable     = reasonError("SERVICE_UNAVAILABLE") // 503
)

var kinds = map[reasonError]int{
	ErrUnauthorized: http.StatusUnauthorized, ErrPaymentRequired: http.StatusPaymentRequired, ErrForbidden: http.StatusForbidden,
	ErrNotFound: http.StatusNotFound, ErrConflict: http.StatusConflict, ErrTooManyRequests: http.StatusTooManyRequests,
	ErrUnavailable: http.StatusServiceUnavailable,
}

// Reasons that a caller may want to act on. errors.Is compares with what a service gave as details.reason.
const (
	ErrInvalidToken            = reasonError("INVALID_TOKEN")
	ErrExpiredToken            = reasonError("EXPIRED_TOKEN")
	ErrMissingToken            = reasonError("MISSING_TOKEN")
	ErrRevokedToken            = reasonError("REVOKED_TOKEN")
	ErrInsufficientPermissions = reasonError("INSUFFICIENT_PERMISSIONS")
	ErrScopeExceeded           = reasonError("SCOPE_EXCEEDED")
	ErrPolicyViolation         = reasonError("POLICY_VIOLATION")
	ErrPolicyExpired           = reasonError("POLICY_EXPIRED")
	ErrPolicyNotApplicable     = reasonError("POLICY_NOT_APPLICABLE")
	ErrPolicyRequiresAgreement = reasonError("POLICY_REQUIRES_AGREEMENT")
	ErrVerificationRequired    = reasonError("POLICY_REQUIRES_VERIFICATION")
	ErrProofReplayed           = reasonError("PROOF_REPLAYED")
	ErrAgentBlocked            = reasonError("AGENT_BLOCKED")
	ErrFreshAgreementRequired  = reasonError("FRESH_AGREEMENT_REQUIRED")
	ErrPolicyMismatch          = reasonError("POLICY_MISMATCH")
	ErrAgreementReplayed       = reasonError("AGREEMENT_REPLAYED")
	ErrAgreementStale          = reasonError("AGREEMENT_STALE")
	ErrBadSignature            = reasonError("BAD_SIGNATURE")
	ErrWeakKey                 = reasonError("WEAK_KEY")
	ErrUnsupportedKey          = reasonError("UNSUPPORTED_KEY")
	ErrRateLimitExceeded       = reasonError("RATE_LIMIT_EXCEEDED")
	ErrQuotaExceeded           = reasonError("QUOTA_EXCEEDED")
	ErrServiceCeiling          = reasonError("SERVICE_CEILING")
	ErrPolicyRequiresPayment   = reasonError("POLICY_REQUIRES_PAYMENT")
	ErrPolicyConflict          = reasonError("POLICY_CONFLICT")
	ErrAgentIDTaken            = reasonError("AGENT_ID_TAKEN")
	ErrKeyTaken                = reasonError("KEY_TAKEN")
	ErrIdempotencyKeyReused    = reasonError("IDEMPOTENCY_KEY_REUSED")
	ErrIdempotencyInProgress   = reasonError("IDEMPOTENCY_IN_PROGRESS")
	ErrOutcomeUnknown          = reasonError("OUTCOME_UNKNOWN")
	ErrUpstreamRejected        = reasonError("UPSTREAM_REJECTED")
	ErrMissingParameter        = reasonError("MISSING_PARAMETER")
	ErrInvalidParameter        = reasonError("INVALID_PARAMETER")
	ErrInvalidFormat           = reasonError("INVALID_FORMAT")
	ErrParameterTooLong        = reasonError("PARAMETER_TOO_LONG")
	ErrParameterTooShort       = reasonError("PARAMETER_TOO_SHORT")
	ErrParameterOutOfRange     = reasonError("PARAMETER_OUT_OF_RANGE")
	ErrInvalidEnumValue        = reasonError("INVALID_ENUM_VALUE")
	ErrUnknownParameter        = reasonError("UNKNOWN_PARAMETER")
	ErrIntentNotFound          = reasonError("INTENT_NOT_FOUND")
	ErrVersionConflict         = reasonError("VERSION_CONFLICT")
	ErrIntentDeprecated        = reasonError("INTENT_DEPRECATED")
	ErrStoreUnavailable        = reasonError("STORE_UNAVAILABLE")
	ErrBreakerOpen             = reasonError("BREAKER_OPEN")
	ErrUpstreamTimeout         = reasonError("UPSTREAM_TIMEOUT")
	ErrUpstreamUnreachable     = reasonError("UPSTREAM_UNREACHABLE")
	ErrUpstreamError           = reasonError("UPSTREAM_ERROR")
	ErrResponseInvalid         = reasonError("RESPONSE_INVALID")
)
