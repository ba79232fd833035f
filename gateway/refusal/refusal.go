package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/upstream"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// causes says which reason a domain error has; the first match wins, and what is not here is INTERNAL.
// Errors that carry details of their own are described below.
var causes = []struct {
	err     error
	reason  Reason
	message string
}{
	{pat.ErrMissing, "MISSING_TOKEN", "No PAT was sent."},
	{pat.ErrExpired, "EXPIRED_TOKEN", "The PAT has expired."},
	{pat.ErrRevoked, "REVOKED_TOKEN", "The PAT was revoked."},
	{pat.ErrBlocked, "AGENT_BLOCKED", "The agent is blocked."},
	{pat.ErrNotYetValid, "INVALID_TOKEN", "The PAT is not valid yet; check your clock."},
	{pat.ErrInvalid, "INVALID_TOKEN", "The PAT is not one this service issued."},
	{pat.ErrUnavailable, "STORE_UNAVAILABLE", "The gateway cannot tell at the moment which tokens were revoked."},
	{pat.ErrWeakKey, "WEAK_KEY", "The key is too weak to be evidence."},
	{pat.ErrUnsupportedKey, "UNSUPPORTED_KEY", "The key cannot be read, or is of no kind that is accepted."},
	{pat.ErrBadSignature, "BAD_SIGNATURE", "The signature does not verify with the key."},
	{pat.ErrBadAgentID, "INVALID_PARAMETER", "An agent_id is 1 to 200 visible ASCII characters."},
	{pat.ErrBadScope, "INVALID_PARAMETER", "The scope asked for is not acceptable."},
	{pat.ErrAgreementReplayed, "AGREEMENT_REPLAYED", "This agreement was used before."},
	{pat.ErrAgreementStale, "AGREEMENT_STALE", "The agreement was not made within five minutes of now."},
	{pat.ErrFreshRequired, "FRESH_AGREEMENT_REQUIRED", "Only an agreement that cannot be replayed is accepted for this."},
	{pat.ErrNotAdmitted, "INSUFFICIENT_PERMISSIONS", "The service admits only agents its operator knows."},
	{pat.ErrKeyTaken, "KEY_TAKEN", "The key belongs to another agent_id."},
	{pat.ErrProofReplayed, "PROOF_REPLAYED", "This proof was used before."},
	{pat.ErrProofRequired, "POLICY_REQUIRES_VERIFICATION", "Without a proof of key this is not done."},
	{pat.ErrBadProof, "POLICY_REQUIRES_VERIFICATION", "The proof was not made for this call, or not now."},
	{store.ErrUnavailable, "STORE_UNAVAILABLE", "The gateway cannot write down what it does at the moment, so it does nothing."},
	{context.DeadlineExceeded, "STORE_UNAVAILABLE", "The gateway cannot write down what it does at the moment, so it does nothing."},
	{context.Canceled, "STORE_UNAVAILABLE", "The request was given up before anything was done."},
	{store.ErrNonceUsed, "PROOF_REPLAYED", "This proof was used before."},
	{store.ErrKeyReused, "IDEMPOTENCY_KEY_REUSED", "The Idempotency-Key was used for a different request."},
	{store.ErrOutcomeUnknown, "OUTCOME_UNKNOWN", "It is not known how the call under this Idempotency-Key ended."},
	{store.ErrCredit, "POLICY_REQUIRES_PAYMENT", "The charge for this call is more than is left to the agent."},
	{upstream.ErrTimeout, "UPSTREAM_TIMEOUT", "The service behind did not answer in time."},
	{upstream.ErrUnreachable, "UPSTREAM_UNREACHABLE", "The service behind cannot be reached."},
	{upstream.ErrBroken, "UPSTREAM_ERROR", "The service behind broke off before its answer was complete."},
	{upstream.ErrGrantEnded, "STORE_UNAVAILABLE", "The call was held up too long to be sent within its limit."},
}

// faultFor says what an agent is told of an error.
func faultFor(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	if f := described(err); f != nil {
		return f.because(err)
	}
	for _, c := range causes {
		if errors.Is(err, c.err) {
			f := newFault(c.reason, c.message).because(err)
			if f.Status == http.StatusServiceUnavailable {
				f.after(time.Second)
			}
			return f
		}
	}
	return newFault("INTERNAL", "The gateway failed.").because(err)
}

// described are the errors that say more than that they happened.
func described(err error) *Fault {
	var (
		open     *upstream.BreakerOpenError
		rejected *upstream.RejectedError
		busy     *upstream.BusyError
		status   *upstream.StatusError
		invalid  *upstream.ResponseError
	)
	if f := agreementFault(err); f != nil {
		return f
	}
	switch {
	case errors.Is(err, store.ErrInProgress):
		return newFault("IDEMPOTENCY_IN_PROGRESS", "The call under this Idempotency-Key is still running.").after(time.Second)
	case errors.As(err, &open):
		return newFault("BREAKER_OPEN", "The service behind failed too often of late.").after(open.RetryAfter)
	case errors.As(err, &rejected):
		f := newFault("UPSTREAM_REJECTED", "The service rejected the call.").with("upstream", upstreamSaid(rejected.Status, rejected.Message))
		f.Code, f.Status = string(rejected.Code), rejectedStatus[rejected.Code]
		return f
	case errors.As(err, &busy):
		wait := max(busy.RetryAfter, time.Second)
		return newFault("UPSTREAM_BUSY", "The service behind takes no more calls at the moment.").after(wait).
			with("upstream", upstreamSaid(http.StatusTooManyRequests, busy.Message))
	case errors.As(err, &status):
		return newFault("UPSTREAM_ERROR", "The service behind failed.").with("upstream", upstreamSaid(status.Status, status.Message))
	case errors.As(err, &invalid):
		return newFault("RESPONSE_INVALID", "The service's answer cannot be used.")
	}
	return nil
}

var rejectedStatus = map[upstream.Code]int{
	upstream.InvalidParameter: http.StatusBadRequest,
	upstream.NotFound:         http.StatusNotFound,
	upstream.Conflict:         http.StatusConflict,
}

func upstreamSaid(status int, message string) map[string]any {
	said := map[string]any{"status": status}
	if message != "" {
		said["message"] = message
	}
	return said
}

// invalidParameters tells all violations at once; the reason is the first one's.
func invalidParameters(violations []intents.Violation) *Fault {
	f := newFault(Reason(violations[0].Reason), "The parameters do not fit the intent.")
	if len(violations) == 1 {
		f.Message = "The parameter at " + violations[0].Pointer + " does not fit the intent: " + violations[0].Message + "."
	}
	return f.with("violations", violations)
}

func unsendableParameters(violations []upstream.Violation) *Fault {
	list := make([]intents.Violation, 0, len(violations))
	for _, v := range violations {
		list = append(list, intents.Violation{Pointer: "/" + strictjson.Escape(v.Parameter), Keyword: "path", Reason: intents.InvalidParameter, Message: v.Message})
	}
	slices.SortFunc(list, func(a, b intents.Violation) int { return strings.Compare(a.Pointer, b.Pointer) })
	return invalidParameters(list)
}

// inexactParameter refuses a number that a signature or a fingerprint could not pin down.
func inexactParameter(err error) *Fault {
	v := intents.Violation{Keyword: "number", Reason: intents.InvalidParameter, Message: "the number needs more digits than a proof or an idempotency key can pin down: send it as a string"}
	if inexact, ok := errors.AsType[*strictjson.InexactError](err); ok {
		v.Pointer = inexact.Pointer
	}
	return invalidParameters([]intents.Violation{v}).because(err)
}
