package execute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// begin takes what the call needs, all or none of it: in one durable transaction or, where it only counts, from
// what this process has on lease.
func (x *Executor) begin(ctx context.Context, e *execution) (grant.Grant, *replay, error) {
	request, err := x.reservation(ctx, e)
	if err != nil {
		return grant.Grant{}, nil, err
	}
	e.id = request.Execution.ID
	if err := x.writeDown(e); err != nil {
		return grant.Grant{}, nil, err
	}
	since := x.now()
	begun, err := x.store.Begin(ctx, request)
	if full, ok := errors.AsType[*store.LimitError](err); ok {
		return grant.Grant{}, nil, x.overLimit(ctx, e, full)
	}
	switch {
	case err != nil:
		return grant.Grant{}, nil, refusal.For(err)
	case begun.Replay != nil:
		e.reference = new(referenceOf(begun.Replay))
		return grant.Grant{}, &replay{*begun.Replay, begun.Standing}, nil
	}
	e.admission, e.sendBy = &begun, since.Add(request.Hold-sentBefore)
	if begun.Recorded {
		e.reference = new(referenceOf(&begun.Execution))
		if e.call.began != nil {
			e.call.began(*e.reference)
		}
	}
	return grant.New(request.Execution.ID, x.terms(e, &begun, since)), nil, nil
}

// writeDown has the call written down, where that has to be done before it is made.
func (x *Executor) writeDown(e *execution) error {
	if x.journal == nil || !x.journal.Required() {
		return nil
	}
	if err := x.journal.Begin(e.event(x.now(), Result{}, nil)); err != nil {
		return reason.StoreUnavailable.Refusal("The record of this call cannot be written at the moment.").After(time.Second).
			ShedFor(reason.ShedAudit).Because(err)
	}
	return nil
}

// reservation returns what begin must take for this call.
func (x *Executor) reservation(ctx context.Context, e *execution) (store.BeginRequest, error) {
	s, c := e.service, e.claims
	id, err := newID()
	if err != nil {
		return store.BeginRequest{}, reason.Internal.Refusal("No identifier could be made.").Because(err)
	}
	principal := c.Principal()
	r := store.BeginRequest{
		Execution: store.Execution{
			ID: id, Service: s.ID, AgentID: principal.Record(), Intent: e.intent.ID, AgreementID: c.Agreement,
			TokenID: c.ID, PolicyDigest: c.PolicyDigest, IdempotencyKey: string(e.call.IdempotencyKey),
			ContextID: e.call.ContextID,
		},
		Hold: s.Hold, KeyFor: idempotencyWindow,
	}
	if e.call.IdempotencyKey != "" {
		if r.Execution.Fingerprint, err = fingerprint(e.request); err != nil {
			return store.BeginRequest{}, refusal.InexactParameter("", err)
		}
	}
	if e.proof != nil {
		r.Nonce = &store.Nonce{KeyID: c.KeyID, ID: e.proof.Nonce, Until: e.proof.Until}
	}
	own, err := s.TokenLimit(ctx, c, func() (pat.Key, error) { return x.agreedKey(ctx, e) })
	if err != nil {
		return store.BeginRequest{}, refusal.For(err)
	}
	if own != nil {
		r.Limits = append(r.Limits, store.Reservation{Principal: principal, Limit: *own})
	}
	if e.intent.Ceiling.Max > 0 {
		r.Limits = append(r.Limits, store.Reservation{Limit: limit.OfService(e.intent.ID, e.intent.Ceiling)})
	}
	charges := false
	r.Candidates = make([]store.Candidate, 0, len(e.decision.Candidates))
	for _, candidate := range e.decision.Candidates {
		charges = charges || !candidate.Charge.IsZero()
		wanted := store.Candidate{Rule: candidate.Rule, Charge: candidate.Charge}
		wanted.Limits = make([]store.Reservation, 0, len(candidate.Limits)+1)
		for _, l := range candidate.Limits {
			wanted.Limits = append(wanted.Limits, store.Reservation{Principal: principal, Limit: l})
		}
		if s.OpenAdmission && !e.approved && candidate.Charge.IsZero() && e.intent.Ceiling.Max == 0 {
			wanted.Limits = append(wanted.Limits, store.Reservation{Limit: e.intent.Newcomers})
		}
		r.Candidates = append(r.Candidates, wanted)
	}
	if charges {
		r.Billing = e.billing()
	}
	return r, nil
}

const (
	// idempotencyWindow is how long a stored answer is kept.
	idempotencyWindow = 24 * time.Hour
)

// fingerprint identifies what was asked, so that an idempotency key cannot be used for anything else.
func fingerprint(r Request) (string, error) {
	sum, err := pat.ExecuteDigest(r.IntentUID, r.Parameters)
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	return sum, nil
}
