// Package refusal converts errors into refusals. A table maps the errors without details to reasons; functions describe the errors that
// carry details. All responses to agents and operators use For.
package refusal

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// causes maps errors to reasons. The first match applies. The functions below handle the errors that carry details before this table is
// used. Any other error becomes reason.Internal.
var causes = []struct {
	err     error
	reason  reason.Reason
	message string
	shed    reason.Cause
}{
	{pat.ErrMissing, reason.MissingToken, "", ""},
	{pat.ErrExpired, reason.ExpiredToken, "", ""},
	{pat.ErrRevoked, reason.RevokedToken, "", ""},
	{pat.ErrBlocked, reason.AgentBlocked, "", ""},
	{
		pat.ErrNotYetValid, reason.InvalidToken,
		"The PAT is not valid yet: it begins at its claim nbf. If it is for a policy that takes effect later, use your present PAT until then.", "",
	},
	{pat.ErrInvalid, reason.InvalidToken, "", ""},
	{pat.ErrUnavailable, reason.StoreUnavailable, "The gateway cannot check at the moment which tokens were revoked.", reason.ShedRevocations},
	{keys.ErrWeak, reason.WeakKey, "", ""},
	{keys.ErrUnsupported, reason.UnsupportedKey, "", ""},
	{pat.ErrBadSignature, reason.BadSignature, "", ""},
	{pat.ErrBadAgentID, reason.InvalidParameter, "An agent_id must be 1 to 200 visible ASCII characters.", ""},
	{pat.ErrAgreementReplayed, reason.AgreementReplayed, "", ""},
	{pat.ErrAgreementStale, reason.AgreementStale, "", ""},
	{pat.ErrFreshRequired, reason.FreshAgreementRequired, "", ""},
	{pat.ErrNotAdmitted, reason.InsufficientPermissions, "", ""},
	{pat.ErrKeyTaken, reason.KeyTaken, "", ""},
	{pat.ErrProofReplayed, reason.ProofReplayed, "", ""},
	{pat.ErrProofRequired, reason.PolicyRequiresVerification, "", ""},
	{pat.ErrBusy, reason.Overloaded, "", reason.ShedSignatures},
	{store.ErrQueueFull, reason.Overloaded, "", reason.ShedStoreQueue}, // before ErrUnavailable, which such an error also matches
	{store.ErrUnavailable, reason.StoreUnavailable, "", reason.ShedStore},
	{context.DeadlineExceeded, reason.StoreUnavailable, "", reason.ShedStore},
	{context.Canceled, reason.StoreUnavailable, "The request was canceled before anything was done.", ""},
	{store.ErrNonceUsed, reason.ProofReplayed, "", ""},
	{store.ErrKeyReused, reason.IdempotencyKeyReused, "", ""},
	{store.ErrCredit, reason.PolicyRequiresPayment, "", ""},
	{upstream.ErrTimeout, reason.UpstreamTimeout, "", ""},
	{upstream.ErrUnreachable, reason.UpstreamUnreachable, "", ""},
	{upstream.ErrBroken, reason.UpstreamError, "The service behind the gateway closed the connection before its response was complete.", ""},
	{
		upstream.ErrFull, reason.Overloaded, "Too many calls to the service are in progress, either of all agents or of you.",
		reason.ShedUpstream,
	},
	{upstream.ErrGrantEnded, reason.GrantExpired, "", reason.ShedGrant},
}

// For returns the Refusal for an error. If err is or wraps a Refusal, For returns that Refusal. Otherwise the Refusal wraps err, and an
// error without a reason becomes reason.Internal. err must not be nil.
func For(err error) *reason.Refusal {
	if f, ok := errors.AsType[*reason.Refusal](err); ok {
		return f
	}
	if f := described(err); f != nil {
		return f.Because(err)
	}
	for _, c := range causes {
		if errors.Is(err, c.err) {
			f := c.reason.Refusal(c.message).ShedFor(c.shed).Because(err)
			if f.Code == reason.CodeServiceUnavailable {
				f.After(time.Second)
			}
			return f
		}
	}
	return reason.Internal.Refusal("").Because(err)
}

// described returns the refusal for an error that carries details, or nil for any other error.
func described(err error) *reason.Refusal {
	if f := agreement(err); f != nil {
		return f
	}
	if f := earlier(err); f != nil {
		return f
	}
	if stopped, ok := errors.AsType[*pat.StoppedError](err); ok {
		return reason.Stopped.Refusal("").After(stoppedFor).With("stopped", stopped.Kind)
	}
	return answer(err)
}

// stoppedFor is the RetryAfter of a request that the operator has stopped. The gateway cannot know when the operator will end the stop.
const stoppedFor = time.Minute

// earlier returns the refusal of a call whose idempotency key belongs to a call that has not ended, or nil for any other error.
func earlier(err error) *reason.Refusal {
	var f *reason.Refusal
	switch {
	case errors.Is(err, store.ErrInProgress):
		f = reason.IdempotencyInProgress.Refusal("").After(time.Second)
	case errors.Is(err, store.ErrOutcomeUnknown):
		f = reason.OutcomeUnknown.Refusal("")
	default:
		return nil
	}
	if of, ok := errors.AsType[*store.EarlierError](err); ok {
		f.With("execution_id", of.ExecutionID)
	}
	return f
}

// answer returns the refusal for an error response of the service behind the gateway, or for an open breaker; nil for any other error.
func answer(err error) *reason.Refusal {
	if open, ok := errors.AsType[*upstream.BreakerOpenError](err); ok {
		return reason.BreakerOpen.Refusal("").After(open.RetryAfter).ShedFor(reason.ShedBreaker)
	}
	if rejected, ok := errors.AsType[*upstream.RejectedError](err); ok {
		return reason.UpstreamRejected.Refusal("").WithCode(reason.Code(rejected.Code)).
			With("upstream", upstreamAnswer(rejected.Status, rejected.Message))
	}
	if busy, ok := errors.AsType[*upstream.BusyError](err); ok {
		return reason.UpstreamBusy.Refusal("").After(max(busy.RetryAfter, time.Second)).
			With("upstream", upstreamAnswer(http.StatusTooManyRequests, busy.Message))
	}
	if status, ok := errors.AsType[*upstream.StatusError](err); ok {
		return reason.UpstreamError.Refusal("").With("upstream", upstreamAnswer(status.Status, status.Message))
	}
	if _, ok := errors.AsType[*upstream.ResponseError](err); ok {
		return reason.ResponseInvalid.Refusal("")
	}
	return nil
}

func upstreamAnswer(status int, message string) map[string]any {
	details := map[string]any{"status": status}
	if message != "" {
		details["message"] = message
	}
	return details
}
