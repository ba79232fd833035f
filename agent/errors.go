package agent

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/reason"
)

var (
	// ErrOptions means that the Options are invalid, or that they do not allow the operation.
	ErrOptions = errors.New("the client's options do not allow this operation")
	// ErrTarget means that the target given to Discover does not name a service.
	ErrTarget = errors.New("want the URL of an agents.json, an origin or a domain")
	// ErrNoService means that no agents.json was found.
	ErrNoService = errors.New("no agents.json was found")
	// ErrNotAgreed means that the session has no PAT: call Agree first.
	ErrNotAgreed = errors.New("the agent has no agreement with this service: agree to its policy first")
	// ErrNoDoor means that the service cannot be called through the requested protocol, for example because its agents.json has no endpoint
	// for that protocol.
	ErrNoDoor = errors.New("the service cannot be called through this protocol")
	// ErrAnswer means that the client cannot use a service's response.
	ErrAnswer = errors.New("the service's response cannot be used")
	// ErrParameters means that the parameters cannot be sent.
	ErrParameters = errors.New("the parameters cannot be sent")
	// ErrFile means that a key or session file cannot be used.
	ErrFile = errors.New("the file cannot be used")
)

// answerError returns an ErrAnswer with the text of a parsing error. The text may quote names in the response, so answerError
// cleans it and does not wrap the error itself.
func answerError(err error) error { return fmt.Errorf("%w: %s", ErrAnswer, clean(err.Error())) }

// A PolicyChangedError means that the service no longer offers the policy that was accepted. Nothing was signed. The caller should
// read the current policy, and agree to it if it is acceptable.
type PolicyChangedError struct {
	Agreed, Offered string // digests; Offered is empty if the service did not state it
	Cause           *Error // the service's response; nil if the client compared the digests itself
}

// Changes returns the changes since the agreement, in the words of the service. The client has not verified them.
func (e *PolicyChangedError) Changes() []string {
	if e.Cause == nil {
		return nil
	}
	return e.Cause.Changes
}

func (e *PolicyChangedError) Error() string {
	if e.Offered == "" {
		return "the policy has changed: " + e.Agreed + " was accepted; the current policy was not signed"
	}
	return "the policy has changed: " + e.Agreed + " was accepted, but the service now offers " + e.Offered + ", which was not signed"
}

// Unwrap returns Cause.
func (e *PolicyChangedError) Unwrap() error {
	if e.Cause == nil {
		return nil
	}
	return e.Cause
}

// Is makes errors.Is(err, ErrPolicyRequiresAgreement) return true.
func (e *PolicyChangedError) Is(target error) bool {
	return target == error(ErrPolicyRequiresAgreement)
}

// A PendingError means that the service's operator has to approve the agent first. To find out whether that has happened, call
// Agree again later, on the same Service or on one resumed from its Session.
type PendingError struct{ AgreementID string }

func (e *PendingError) Error() string {
	return "the agreement " + e.AgreementID + " is waiting for the service's operator to approve it"
}

// A LostError means that an earlier attempt of a call may have taken effect although the last one was refused or failed. The
// response to the earlier attempt was lost, and Err does not state the outcome of that attempt.
type LostError struct{ Err error }

func (e *LostError) Error() string {
	return e.Err.Error() + "; an earlier attempt, whose response was lost, may have taken effect"
}

// Unwrap returns Err.
func (e *LostError) Unwrap() error { return e.Err }

// A RenewalError means that an attempt of a call was not sent because the PAT could not be renewed. Err describes the renewal, not the
// call.
type RenewalError struct{ Err error }

func (e *RenewalError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RenewalError) Unwrap() error { return e.Err }

// An IssuerError means that a service uses a name that its address does not vouch for. The owner of the name could use an agreement that is
// made out to the name, at the caller's expense. To agree anyway, set Acceptance.Issuer to the name.
type IssuerError struct {
	Issuer, Host string
	Unconfirmed  bool // the host is a subdomain of the issuer, but the client found no DNS records of the issuer that point to it
}

func (e *IssuerError) Error() string {
	if e.Unconfirmed {
		return fmt.Sprintf("%s requests an agreement made out to %s, but the DNS records of %s do not point to this service: nothing was signed",
			e.Host, e.Issuer, e.Issuer)
	}
	return fmt.Sprintf("%s requests an agreement made out to %s, which is not its own name: nothing was signed", e.Host, e.Issuer)
}

// An Error is an error response of a service: a refusal or a failure. See UIM core, section 3.3. Its texts come from the service; except in
// Details, they are limited in length and contain no control characters.
type Error struct {
	Status     int    // HTTP status; for a call through another protocol, the status that the execute endpoint would send
	Code       string // such as INVALID_PARAMETER; empty if the service gives none
	Reason     string // details.reason, the exact cause; empty if the service gives none
	UIMCode    string // such as UIM-AUT-001
	Message    string
	Suggestion string
	Upstream   string // message of the API behind the service; empty if the service gives none
	Violations []schema.Violation
	RetryAfter time.Duration // 0 if the service does not state it
	Outcome    string        // not_sent, failed, done or unknown; empty if the service does not state it
	Charge     *Charge
	RateLimit  *RateLimit
	RequestID  string
	Replayed   bool           // whether this is the stored response to an earlier call under the same idempotency key
	Offered    string         // digest of the policy that the service now offers; empty if the service does not state it
	Changes    []string       // what has changed since the agreement, according to the service; nil if the service does not state it
	Demand     *Demand        // the x402 payment that the service demands; nil if it demands none
	Details    map[string]any // the whole of error.details, decoded by package strictjson

	Evidence

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
		fmt.Fprintf(&b, "the service responded with %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	return b.String()
}

// Unwrap returns ErrAnswer if the client cannot use the service's response to a request that may have been executed, and nil
// otherwise.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether e matches a sentinel below: by details.reason, by code if the service gives no reason, or by HTTP status if target is
// the sentinel of a status.
func (e *Error) Is(target error) bool {
	want, ok := target.(reasonError)
	if !ok {
		return false
	}
	if string(want) == e.Reason || e.Reason == "" && string(want) == e.Code {
		return true
	}
	status, ok := statusOf[want]
	return ok && status == e.Status
}

// A reasonError is a reason, or the code of a class of reasons, with which errors.Is compares an *Error.
type reasonError string

func (r reasonError) Error() string { return strings.ToLower(strings.ReplaceAll(string(r), "_", " ")) }

// Errors that match every response with the given HTTP status, whatever its reason.
const (
	ErrUnauthorized    = reasonError(reason.CodeUnauthorized)       // 401
	ErrPaymentRequired = reasonError(reason.CodePaymentRequired)    // 402
	ErrForbidden       = reasonError(reason.CodeForbidden)          // 403
	ErrNotFound        = reasonError(reason.CodeNotFound)           // 404
	ErrConflict        = reasonError(reason.CodeConflict)           // 409
	ErrTooManyRequests = reasonError(reason.CodeTooManyRequests)    // 429
	ErrUnavailable     = reasonError(reason.CodeServiceUnavailable) // 503
)

var statusOf = map[reasonError]int{
	ErrUnauthorized: http.StatusUnauthorized, ErrPaymentRequired: http.StatusPaymentRequired, ErrForbidden: http.StatusForbidden,
	ErrNotFound: http.StatusNotFound, ErrConflict: http.StatusConflict, ErrTooManyRequests: http.StatusTooManyRequests,
	ErrUnavailable: http.StatusServiceUnavailable,
}

// Reasons that a caller may want to handle. errors.Is compares them with details.reason of the response.
const (
	ErrInvalidToken            = reasonError(reason.InvalidToken)
	ErrExpiredToken            = reasonError(reason.ExpiredToken)
	ErrMissingToken            = reasonError(reason.MissingToken)
	ErrRevokedToken            = reasonError(reason.RevokedToken)
	ErrInsufficientPermissions = reasonError(reason.InsufficientPermissions)
	ErrScopeExceeded           = reasonError(reason.ScopeExceeded)
	ErrPolicyViolation         = reasonError(reason.PolicyViolation)
	ErrPolicyExpired           = reasonError(reason.PolicyExpired)
	ErrPolicyNotApplicable     = reasonError(reason.PolicyNotApplicable)
	ErrPolicyRequiresAgreement = reasonError(reason.PolicyRequiresAgreement)
	ErrVerificationRequired    = reasonError(reason.PolicyRequiresVerification)
	ErrProofReplayed           = reasonError(reason.ProofReplayed)
	ErrAgentBlocked            = reasonError(reason.AgentBlocked)
	ErrFreshAgreementRequired  = reasonError(reason.FreshAgreementRequired)
	ErrPlanRequired            = reasonError(reason.PlanRequired)
	ErrUnknownPlan             = reasonError(reason.UnknownPlan)
	ErrPolicyMismatch          = reasonError(reason.PolicyMismatch)
	ErrAgreementReplayed       = reasonError(reason.AgreementReplayed)
	ErrAgreementStale          = reasonError(reason.AgreementStale)
	ErrAgreementMisdirected    = reasonError(reason.AgreementMisdirected)
	ErrBadSignature            = reasonError(reason.BadSignature)
	ErrWeakKey                 = reasonError(reason.WeakKey)
	ErrUnsupportedKey          = reasonError(reason.UnsupportedKey)
	ErrRateLimitExceeded       = reasonError(reason.RateLimitExceeded)
	ErrQuotaExceeded           = reasonError(reason.QuotaExceeded)
	ErrServiceCeiling          = reasonError(reason.ServiceCeiling)
	ErrRestoredLimits          = reasonError(reason.RestoredLimits)
	ErrPolicyRequiresPayment   = reasonError(reason.PolicyRequiresPayment)
	ErrNewcomersExhausted      = reasonError(reason.NewcomersExhausted)
	ErrPaymentMismatch         = reasonError(reason.PaymentMismatch)
	ErrPaymentFailed           = reasonError(reason.PaymentFailed)
	ErrPaymentUsed             = reasonError(reason.PaymentUsed)
	ErrPaymentUnknown          = reasonError(reason.PaymentUnknown)
	ErrPolicyConflict          = reasonError(reason.PolicyConflict)
	ErrAgentIDTaken            = reasonError(reason.AgentIDTaken)
	ErrKeyTaken                = reasonError(reason.KeyTaken)
	ErrIdempotencyKeyReused    = reasonError(reason.IdempotencyKeyReused)
	ErrIdempotencyInProgress   = reasonError(reason.IdempotencyInProgress)
	ErrOutcomeUnknown          = reasonError(reason.OutcomeUnknown)
	ErrUpstreamRejected        = reasonError(reason.UpstreamRejected)
	ErrMissingParameter        = reasonError(reason.MissingParameter)
	ErrInvalidParameter        = reasonError(reason.InvalidParameter)
	ErrInvalidFormat           = reasonError(reason.InvalidFormat)
	ErrParameterTooLong        = reasonError(reason.ParameterTooLong)
	ErrParameterTooShort       = reasonError(reason.ParameterTooShort)
	ErrParameterOutOfRange     = reasonError(reason.ParameterOutOfRange)
	ErrInvalidEnumValue        = reasonError(reason.InvalidEnumValue)
	ErrUnknownParameter        = reasonError(reason.UnknownParameter)
	ErrIntentNotFound          = reasonError(reason.IntentNotFound)
	ErrVersionConflict         = reasonError(reason.VersionConflict)
	ErrIntentDeprecated        = reasonError(reason.IntentDeprecated)
	ErrStoreUnavailable        = reasonError(reason.StoreUnavailable)
	ErrStopped                 = reasonError(reason.Stopped)
	ErrBreakerOpen             = reasonError(reason.BreakerOpen)
	ErrUpstreamTimeout         = reasonError(reason.UpstreamTimeout)
	ErrUpstreamUnreachable     = reasonError(reason.UpstreamUnreachable)
	ErrUpstreamError           = reasonError(reason.UpstreamError)
	ErrResponseInvalid         = reasonError(reason.ResponseInvalid)
)
