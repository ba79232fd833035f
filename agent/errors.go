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
	// ErrOptions means that a client cannot be made of these Options, or that they do not allow the operation.
	ErrOptions = errors.New("the client's options do not allow this")
	// ErrTarget means that a text does not name a service.
	ErrTarget = errors.New("want the URL of an agents.json, an origin or a domain")
	// ErrNoService means that no agents.json was found.
	ErrNoService = errors.New("no agents.json was found")
	// ErrNotAgreed means that there is no PAT: agree first.
	ErrNotAgreed = errors.New("there is no agreement with this service: agree to its policy first")
	// ErrNoDoor means that the agents.json of the agreement does not have the door that a call should take.
	ErrNoDoor = errors.New("the service names no such way in")
	// ErrAnswer means that the client cannot use a service's response.
	ErrAnswer = errors.New("the service's answer cannot be used")
	// ErrParameters means that the parameters cannot be sent.
	ErrParameters = errors.New("these parameters cannot be sent")
	// ErrFile means that a key or session file cannot be used.
	ErrFile = errors.New("this file cannot be used")
)

// answerError makes an ErrAnswer of a parsing error. Its text may quote names of the answer: it is cleaned, and the error
// itself is not wrapped.
func answerError(err error) error { return fmt.Errorf("%w: %s", ErrAnswer, clean(err.Error())) }

// A PolicyChangedError means that the service no longer offers the policy that was accepted. Nothing was signed. Read the
// policy offered now, and agree to it if it suits you.
type PolicyChangedError struct {
	Agreed, Offered string // digests; Offered is empty if the service did not state it
	Cause           *Error // the service's answer; nil if the client compared the digests itself
}

func (e *PolicyChangedError) Error() string {
	if e.Offered == "" {
		return "the policy has changed: " + e.Agreed + " was accepted; the one offered now was not signed"
	}
	return "the policy has changed: " + e.Agreed + " was accepted, " + e.Offered + " is offered and was not signed"
}

// Unwrap returns Cause.
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

// A PendingError means that the service's operator has to approve the agent first. Agree again later, on the same Service
// or one resumed from its Session, to find out whether that has happened.
type PendingError struct{ AgreementID string }

func (e *PendingError) Error() string {
	return "the agreement " + e.AgreementID + " waits for the service's operator to approve it"
}

// A LostError means that an earlier attempt of a call may have taken effect although the last one was refused or failed: its response was
// lost, and Err does not contain its outcome.
type LostError struct{ Err error }

func (e *LostError) Error() string {
	return e.Err.Error() + "; an attempt before, whose answer was lost, may have taken effect"
}

// Unwrap returns Err.
func (e *LostError) Unwrap() error { return e.Err }

// A RenewalError means that an attempt of a call was not sent because the PAT could not be renewed. Err describes the renewal, not the
// call.
type RenewalError struct{ Err error }

func (e *RenewalError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RenewalError) Unwrap() error { return e.Err }

// An IssuerError means that a service uses a name that its address does not vouch for. An agreement made out to that name could be used
// by the owner of the name, at your cost. To agree nevertheless, set Acceptance.Issuer to the name.
type IssuerError struct {
	Issuer, Host string
	Unconfirmed  bool // the host is below the issuer's domain, whose DNS records do not name it
}

func (e *IssuerError) Error() string {
	if e.Unconfirmed {
		return fmt.Sprintf("%s asks for an agreement made out to %s, and the DNS records of %s do not lead to it: nothing was signed",
			e.Host, e.Issuer, e.Issuer)
	}
	return fmt.Sprintf("%s asks for an agreement made out to %s, which is not its own name: nothing was signed", e.Host, e.Issuer)
}

// An Error is a service's refusal of a request, or its failure. UIM core 3.3. Its texts come from the service, bounded in length and
// without control characters.
type Error struct {
	Status     int    // of HTTP; through another door, that of the execute endpoint
	Code       string // such as INVALID_PARAMETER; empty if the service gives none
	Reason     string // details.reason, the exact cause; empty if the service gives none
	UIMCode    string // such as UIM-AUT-001
	Message    string
	Suggestion string
	Upstream   string // message of the API behind the service; empty: not stated by the service
	Violations []schema.Violation
	RetryAfter time.Duration // 0: not stated by the service
	Outcome    string        // not_sent, failed, done or unknown; empty: not stated by the service
	Charge     *Charge
	RateLimit  *RateLimit
	RequestID  string
	Replayed   bool           // the response to an earlier call under the same idempotency key
	Offered    string         // digest of the policy offered now; empty: not stated by the service
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

// Unwrap returns ErrAnswer if the service executed the request and its answer cannot be used, and nil otherwise.
func (e *Error) Unwrap() error { return e.cause }

// Is compares with the sentinels below: by details.reason, or by code or status for services that give none.
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

// A reasonError is a details.reason (or a kind of them) to compare an *Error with.
type reasonError string

func (r reasonError) Error() string { return strings.ToLower(strings.ReplaceAll(string(r), "_", " ")) }

// Kinds of responses by HTTP status, whatever the reason.
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

// Reasons that a caller may want to handle. errors.Is compares them with details.reason of the answer.
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
	ErrPolicyRequiresPayment   = reasonError(reason.PolicyRequiresPayment)
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
	ErrBreakerOpen             = reasonError(reason.BreakerOpen)
	ErrUpstreamTimeout         = reasonError(reason.UpstreamTimeout)
	ErrUpstreamUnreachable     = reasonError(reason.UpstreamUnreachable)
	ErrUpstreamError           = reasonError(reason.UpstreamError)
	ErrResponseInvalid         = reasonError(reason.ResponseInvalid)
)
