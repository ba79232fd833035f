package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// begin reserves everything that the call needs, or nothing. It does so in one durable transaction or, if the call only counts against
// limits, from the lease of this process. It returns either a Grant or the replay of an earlier call.
func (x *Executor) begin(ctx context.Context, e *execution) (grant.Grant, *replay, error) {
	request, err := x.reservation(ctx, e)
	if err != nil {
		return grant.Grant{}, nil, err
	}
	e.id = request.Execution.ID
	if err := x.writeDown(e); err != nil {
		return grant.Grant{}, nil, err
	}
	since := x.cfg.Now()
	admitted, err := x.cfg.Store.Begin(ctx, request)
	if full, ok := errors.AsType[*store.LimitError](err); ok {
		if e.unconfirmed != nil && full.Kind == limit.Policy { // a more expensive permission is left
			return grant.Grant{}, nil, x.askPerson(ctx, e)
		}
		return grant.Grant{}, nil, x.overLimit(ctx, e, full)
	}
	if short, ok := errors.AsType[*store.CreditError](err); ok {
		return grant.Grant{}, nil, x.unpaid(ctx, e, short)
	}
	switch {
	case errors.Is(err, store.ErrNonceUsed) && e.confirmation != nil:
		return grant.Grant{}, nil, x.askAgain(ctx, e)
	case errors.Is(err, store.ErrBudgetChanged):
		return grant.Grant{}, nil, err
	case errors.Is(err, store.ErrOutcomeUnknown) && e.service.Upstream.HasStatusQuestion():
		return grant.Grant{}, nil, refusal.For(err).After(leastAskingPause) // the Reconciler asks the service for the outcome
	case err != nil:
		return grant.Grant{}, nil, refusal.For(err)
	case admitted.Replay != nil:
		e.reference = new(referenceOf(admitted.Replay))
		return grant.Grant{}, &replay{*admitted.Replay, shown(admitted.Standing)}, nil
	}
	if e.confirmation != nil {
		x.used(ctx, e, admitted.Execution.ID)
	}
	e.admission, e.sendBy = &admitted, since.Add(request.Hold-sentBefore)
	if admitted.Recorded {
		e.reference = new(referenceOf(&admitted.Execution))
		if e.call.began != nil {
			e.call.began(*e.reference)
		}
	}
	return grant.New(request.Execution.ID, x.attemptOf(e, e.admission, since)), nil, nil
}

// writeDown writes the record of the call to the journal, if the journal requires records before calls are made. If the journal cannot be
// written, the error is a *reason.Refusal.
func (x *Executor) writeDown(e *execution) error {
	if x.cfg.Journal == nil || !x.cfg.Journal.Required() {
		return nil
	}
	if err := x.cfg.Journal.Begin(e.event(x.cfg.Now(), Result{}, nil)); err != nil {
		return reason.StoreUnavailable.Refusal("The gateway cannot write the required record of this call at the moment.").After(time.Second).
			ShedFor(reason.ShedAudit).Because(err)
	}
	return nil
}

// reservation returns the limits and the charge that begin must reserve for this call.
func (x *Executor) reservation(ctx context.Context, e *execution) (store.BeginRequest, error) {
	s, c := e.service, e.claims
	principal := c.Principal()
	r := store.BeginRequest{
		Execution: store.Execution{
			ID: cmp.Or(e.id, newID()), Service: s.ID, AgentID: principal.Record(), Intent: e.intent.ID, AgreementID: c.Agreement,
			TokenID: c.ID, PolicyDigest: s.Offer().Digest, IdempotencyKey: string(e.call.IdempotencyKey),
			ContextID: e.call.ContextID,
		},
		Hold: e.intent.Hold, KeyFor: idempotencyWindow, Planned: s.PlanOf(c) != "",
	}
	if e.call.IdempotencyKey != "" {
		sum, err := x.requestDigest(e)
		if err != nil {
			return store.BeginRequest{}, err
		}
		r.Execution.Fingerprint = sum
	}
	if e.proof != nil {
		r.Nonce = &store.Nonce{KeyID: c.KeyID, ID: e.proof.Nonce, Until: e.proof.Until}
	}
	if e.confirmation != nil {
		r.Nonce = nonceOf(e.confirmation, e.at)
		if id, err := WaitingID(e.confirmation.ID); err == nil && e.confirmation.State == store.ConfirmationConfirmed {
			r.Execution.ID = id // the id of an agent's task stays the same
		}
	}
	own, err := e.current.TokenLimit(ctx, c, func() (keys.Key, error) { return x.agreedKey(ctx, e) })
	if err != nil {
		return store.BeginRequest{}, refusal.For(err)
	}
	all := e.appendOwn(make([]store.Reservation, 0, 4), own) // the limits of each candidate are a part of all
	charges := false
	r.Limits, r.Candidates = slices.Clip(all), make([]store.Candidate, 0, len(e.decision.Candidates))
	for i := range e.decision.Candidates {
		candidate := &e.decision.Candidates[i]
		charges = charges || !candidate.Charge.IsZero()
		before := len(all)
		all = e.appendLimits(all, candidate)
		if !candidate.Charge.IsZero() {
			all = e.appendSpending(all, candidate.Charge)
		}
		r.Candidates = append(r.Candidates, store.Candidate{
			Rule: candidate.Rule, Charge: candidate.Charge, Limits: slices.Clip(all[before:]),
		})
	}
	if charges {
		if e.budget != nil {
			r.BudgetNumber = &e.budgetNumber
		}
		r.Billing = e.billing()
		if err := x.prepareEvidence(e, &r); err != nil {
			return store.BeginRequest{}, err
		}
	}
	return r, nil
}

// appendOwn appends the limits that each call to the intent counts in, under whichever permission. own is the limit of the PAT; it may be
// nil.
func (e *execution) appendOwn(to []store.Reservation, own *limit.Limit) []store.Reservation {
	if own != nil {
		to = append(to, store.Reservation{Principal: e.claims.Principal(), Limit: *own})
	}
	if e.intent.Ceiling.Max > 0 {
		to = append(to, store.Reservation{Limit: limit.OfService(e.intent.ID, e.intent.Ceiling)})
	}
	return to
}

// appendLimits appends the limits that a call under a permission counts in, without the budget.
func (e *execution) appendLimits(to []store.Reservation, c *odrl.Candidate) []store.Reservation {
	principal := e.claims.Principal()
	for _, l := range c.Limits {
		to = append(to, store.Reservation{Principal: principal, Limit: l})
	}
	for _, l := range c.Carried {
		to = append(to, store.Reservation{Principal: principal, Limit: l, Carried: true})
	}
	if e.service.OpenAdmission && !e.approved && c.Charge.IsZero() && e.intent.Ceiling.Max == 0 {
		to = append(to, store.Reservation{Limit: e.intent.Newcomers})
	}
	return to
}

const (
	// idempotencyWindow is how long a stored response is kept.
	idempotencyWindow = 24 * time.Hour
)

// fingerprint returns a digest of a request, so that its idempotency key cannot be used for another request. The error is a
// *reason.Refusal.
func fingerprint(r Request) (string, error) {
	sum, err := pat.ExecuteDigest(r.IntentUID, r.Parameters)
	if err != nil {
		return "", refusal.InexactParameter("", fmt.Errorf("fingerprint: %w", err))
	}
	return sum, nil
}

// newID returns a new execution id. It is a UUIDv7 (RFC 9562 5.7), so that ids sort by creation time; the ids of one process do so even
// within a millisecond.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
