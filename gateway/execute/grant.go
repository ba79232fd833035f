package execute

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// sentBefore is how long before the deadline of its record a call must be sent. After the deadline, other processes may end the call,
// according to their clocks.
const sentBefore = 2 * time.Second

// An attempt implements grant.Terms for one attempt of a call.
type attempt struct {
	executor *Executor
	call     *execution
	expires  time.Time
	own      *store.Admission // reservation of a further attempt; nil: this attempt uses the reservation of the call
}

// attemptOf returns the attempt for an admission that was requested at the time since.
func (x *Executor) attemptOf(e *execution, a *store.Admission, since time.Time) *attempt {
	expires := e.sendBy
	if ends := since.Add(a.Expires); a.Expires > 0 && ends.Before(expires) {
		expires = ends
	}
	return &attempt{executor: x, call: e, expires: expires}
}

// Alive implements grant.Terms.
func (a *attempt) Alive() error {
	now := a.executor.cfg.Now()
	if err := grant.Expired(a.expires, now); err != nil {
		return err
	}
	return a.call.stillAgreed(now)
}

// Another implements grant.Terms.
func (a *attempt) Another(ctx context.Context) (grant.Grant, error) {
	return a.executor.another(ctx, a.call)
}

// Unused implements grant.Terms. It releases the reservation of a further attempt; if that fails, the reservation counts as used. It does
// nothing for the first attempt, because settle releases the reservation of the call.
func (a *attempt) Unused(ctx context.Context) {
	if a.own != nil {
		_, _ = a.executor.cfg.Store.Settle(ctx, *a.own, store.Settlement{State: store.Released, Outcome: store.NotSent})
	}
}

// stillAgreed is the last check before a call is sent. It returns nil if, since the decision, token, agreement, agent and policy have not
// been revoked or replaced, and the operator has not stopped the call. It relies on a view of revocations that is at most a second old.
// Call it right before the first byte of each attempt, because begin, connecting and earlier attempts may take long.
func (e *execution) stillAgreed(now time.Time) error {
	s := e.call.Service()
	if s == nil {
		return reason.UnknownHost.Refusal("")
	}
	if err := s.Verifier.StillGood(e.claims, now); err != nil {
		return err
	}
	if err := s.Verifier.StoppedCall(e.claims, e.door(), e.intent.ID, !e.admission.Execution.Charge.IsZero()); err != nil {
		return err
	}
	return agreed(e.claims, s, e.intent.ID)
}

// refresh updates the view of revocations before an attempt if the view is too old. If the update fails, the attempt is not alive.
func (x *Executor) refresh(ctx context.Context, e *execution) {
	if errors.Is(e.stillAgreed(x.cfg.Now()), pat.ErrUnavailable) {
		x.catchUp(ctx)
	}
}

// another admits one more attempt of a call: the attempt counts against every limit of the call, but is not charged. If one of the limits
// is exhausted, another returns an error.
func (x *Executor) another(ctx context.Context, e *execution) (grant.Grant, error) {
	since := x.cfg.Now()
	a, err := x.cfg.Store.Begin(ctx, e.furtherAttempt())
	if err != nil {
		return grant.Grant{}, err
	}
	if len(a.Standing) == len(e.admission.Standing) { // otherwise, one of the limits is a budget, in which the attempt does not count
		e.admission.Standing = a.Standing
	}
	x.refresh(ctx, e)
	further := x.attemptOf(e, &a, since)
	further.own = &a
	return grant.New(a.Execution.ID, further), nil
}

// furtherAttempt returns the reservation for one more attempt. It has no charge and no idempotency key, because the call has already
// reserved both.
func (e *execution) furtherAttempt() store.BeginRequest {
	call := e.admission.Execution
	only := store.Candidate{Rule: call.Rule}
	for i, taken := range e.admission.Taken {
		if limit.KindOf(taken.LimitID) == limit.Budget { // the attempt is not charged
			continue
		}
		only.Limits = append(only.Limits, store.Reservation{
			Principal: taken.Principal, Limit: e.admission.Standing[i].Limit, Carried: taken.Carried,
		})
	}
	return store.BeginRequest{
		Execution: store.Execution{
			ID: call.ID, Service: call.Service, AgentID: call.AgentID, Intent: call.Intent, AgreementID: call.AgreementID,
			TokenID: call.TokenID, PolicyDigest: call.PolicyDigest,
		},
		Candidates: []store.Candidate{only}, Hold: e.intent.Hold,
	}
}
