package calls

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// A beginOp is a BeginRequest prepared for a transaction.
type beginOp struct {
	store.BeginRequest
	calls        *Calls
	requestedAt  time.Time       // by the clock of the process
	reservations [][]reservation // the reservations of each candidate
	result       store.Admission
}

// Begin takes everything that a call needs, or nothing: the nonce, the idempotency key, the units of each limit, and the charge. It writes
// an execution record if the call has a charge or an idempotency key. If an earlier execution under the key has ended, Begin takes nothing
// and returns that record as Admission.Replay, even if the nonce was used before.
//
// If Begin returns an error, the call took nothing, with one exception: if the connection was lost, the transaction may have been
// committed. In that case, Begin releases the units of a recorded call in the background, and the units of a call without a record stay
// counted as used. The error is that of the last candidate (*store.LimitError or *store.CreditError), store.ErrNonceUsed,
// store.ErrKeyReused, store.ErrBudgetChanged, pat.ErrRevoked, store.ErrInProgress, store.ErrOutcomeUnknown, store.ErrUnavailable or, for
// an invalid request, another error. A request is invalid if it has no candidates, no Hold, a negative charge, an invalid rate, or a
// record without an id.
func (c *Calls) Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error) {
	b := beginOp{BeginRequest: r, calls: c, requestedAt: c.db.Local()}
	n, err := b.prepare()
	if err != nil {
		return store.Admission{}, fmt.Errorf("beginning a call: %w", err)
	}
	if b.takesNothing() {
		b.result = b.Admit(0, c.db.Now())
		return b.result, nil
	}
	if c.queue.Full(n.agentID) {
		return store.Admission{}, engine.Unavailable(store.ErrQueueFull)
	}
	if err := c.call(ctx, n, b.run); err != nil {
		if engine.Unsure(err) {
			c.Release(b.result)
		}
		return store.Admission{}, err
	}
	return b.result, nil
}

var (
	errNoCandidate = errors.New("the request has no candidates")
	errCharge      = errors.New("the charge is not a valid amount")
	errHold        = errors.New("a call needs a positive Hold and, with an idempotency key, a positive KeyFor")
	errNoID        = errors.New("an execution with a charge or an idempotency key needs an id")
)

// prepare checks the request, and lists the keys of all rows that it may read or change.
func (b *beginOp) prepare() (rowSet, error) {
	if len(b.Candidates) == 0 {
		return rowSet{}, errNoCandidate
	}
	if b.Hold <= 0 || b.Execution.IdempotencyKey != "" && b.KeyFor <= 0 {
		return rowSet{}, errHold
	}
	e := b.Execution
	n := rowSet{agentID: string(e.AgentID)}
	if e.ID != "" {
		n.begins = append(n.begins, e.ID)
	}
	if e.IdempotencyKey != "" {
		n.keys = []idempotencyKey{{e.Service, string(e.AgentID), e.IdempotencyKey}}
	}
	if b.Planned || b.BudgetNumber != nil {
		n.agreements = append(n.agreements, b.agreement())
	}
	if b.BudgetNumber != nil {
		n.budgets = append(n.budgets, b.agreement())
	}
	if b.Nonce != nil {
		n.nonces = append(n.nonces, nonceKey{e.Service, string(b.Nonce.KeyID), b.Nonce.ID})
	}
	b.reservations = make([][]reservation, len(b.Candidates))
	for i, c := range b.Candidates {
		if c.Charge.Nano < 0 || c.Charge.Nano > 0 && c.Charge.Currency == "" {
			return rowSet{}, errCharge
		}
		if b.Execution.ID == "" && (c.Charge.Nano > 0 || b.Execution.IdempotencyKey != "") {
			return rowSet{}, errNoID
		}
		var err error
		if b.reservations[i], err = joinReservations(b.Execution.Service, b.Limits, c.Limits); err != nil {
			return rowSet{}, err
		}
		for _, r := range b.reservations[i] {
			n.counters = append(n.counters, r.key)
		}
		if c.Charge.Nano > 0 {
			n.accounts = append(n.accounts, ledger.AccountKey{Service: e.Service, AgentID: string(e.AgentID), Currency: c.Charge.Currency})
			if b.Billing.Unapproved {
				n.pools = append(n.pools, ledger.PoolKey{Service: e.Service, Currency: c.Charge.Currency})
			}
		}
	}
	return n, nil
}

// takesNothing reports whether the first candidate needs no limits and no charge, and the call has neither a nonce nor an idempotency key.
// The agreement must have neither a plan nor a budget, and must have been used before. Such a call is admitted without a transaction.
func (b *beginOp) takesNothing() bool {
	return b.Nonce == nil && b.Execution.IdempotencyKey == "" && !b.Planned && b.BudgetNumber == nil && len(b.reservations[0]) == 0 &&
		b.Candidates[0].Charge.Nano == 0 && b.calls.used.has(b.agreement())
}

func (b *beginOp) agreement() ref {
	return ref{b.Execution.Service, string(b.Execution.AgreementID)}
}

// run begins the call. It checks everything before it changes anything.
func (b *beginOp) run(ctx context.Context, w *work) error {
	b.result = store.Admission{}
	e := b.Execution
	forgotten, err := b.earlier(w)
	if err != nil {
		return err
	}
	if b.result.Replay != nil {
		b.showStanding(w)
		return nil
	}
	if err := w.t.ServerChanged(); err != nil {
		return err
	}
	if err := b.checkAgreement(w); err != nil {
		return err
	}
	if n := b.Nonce; n != nil {
		if err := w.checkNonce(ctx, nonceKey{e.Service, string(n.KeyID), n.ID}); err != nil {
			return err
		}
	}
	winner, charge, err := b.choose(ctx, w)
	if err != nil {
		return err
	}
	if forgotten != "" {
		if err := w.forgetKey(ctx, forgotten); err != nil {
			return err
		}
	}
	if n := b.Nonce; n != nil {
		if err := w.takeNonce(ctx, nonceKey{e.Service, string(n.KeyID), n.ID}, n.Until); err != nil {
			return err
		}
	}
	if err := w.book.Hold(charge); err != nil {
		return w.mismatch(err)
	}
	return b.record(ctx, w, winner)
}

// choose returns the first candidate whose limits and charge are available, with its charge. If there is none, the error is that of the
// last candidate.
func (b *beginOp) choose(ctx context.Context, w *work) (winner int, charge ledger.Charge, err error) {
	for i, c := range b.Candidates {
		if err = w.fit(b.reservations[i]); err != nil {
			continue
		}
		if c.Charge.Nano == 0 {
			return i, ledger.Charge{}, nil
		}
		charge, err = w.book.Price(ctx, b.Execution.Service, string(b.Execution.AgentID), c.Charge, b.Billing)
		if !errors.Is(err, store.ErrCredit) {
			return i, charge, err
		}
	}
	return 0, ledger.Charge{}, err
}

// earlier handles an earlier execution under the same idempotency key. It returns an error if that execution prevents the call, and sets
// the result if the execution is replayed. If the key has expired, earlier returns the id of the execution.
func (b *beginOp) earlier(w *work) (forgotten string, err error) {
	e := b.Execution
	key, known := w.found.keys[idempotencyKey{e.Service, string(e.AgentID), e.IdempotencyKey}]
	if !known {
		return "", nil
	}
	was := w.found.executions[key.id]
	if was == nil {
		return "", engine.Unavailable(fmt.Errorf("execution %s: %w", key.id, store.ErrNotFound))
	}
	ended := was.State == store.Captured || was.State == store.Released
	switch {
	case ended && key.until <= engine.Nanos(w.t.Counted()):
		return key.id, nil
	case was.Fingerprint != e.Fingerprint:
		return "", store.ErrKeyReused
	case was.State == store.Held && was.Deadline.After(w.t.Counted()):
		return "", &store.EarlierError{Err: store.ErrInProgress, ExecutionID: was.ID}
	case !ended: // a call held past its deadline counts as unresolved, even before the sweeper changes it
		return "", &store.EarlierError{Err: store.ErrOutcomeUnknown, ExecutionID: was.ID}
	}
	replay := *was
	b.result.Replay = &replay
	w.t.Confirm()
	return "", nil
}

// showStanding adds to the result the state of the limits of the candidate that the earlier execution used or, if there is no such
// candidate, of the first candidate.
func (b *beginOp) showStanding(w *work) {
	was := max(0, slices.IndexFunc(b.Candidates, func(c store.Candidate) bool { return c.Rule == b.result.Replay.Rule }))
	for _, r := range b.reservations[was] {
		b.result.Standing = append(b.result.Standing, w.standing(r))
	}
}

// record takes the limits of the chosen candidate, and writes the record if the call has a charge or a key.
func (b *beginOp) record(ctx context.Context, w *work, winner int) error {
	b.relyOn(w)
	slots := w.take(b.reservations[winner])
	b.admit(w, winner)
	b.result.Taken = slots
	for _, r := range b.reservations[winner] {
		b.result.Standing = append(b.result.Standing, w.standing(r))
	}
	b.markUsed(w)
	if !b.result.Recorded {
		return nil
	}
	e := b.result.Execution
	keyUntil := w.t.Counted().Add(b.KeyFor)
	var forget int64
	if e.Charge.Nano == 0 {
		forget = engine.Nanos(keyUntil)
	}
	if w.found.executions[e.ID] != nil { // another call has the id: the table will reject the record
		w.changes.plain = false
	}
	w.found.executions[e.ID] = &e
	w.changes.beginnings = append(w.changes.beginnings, Beginnings{&e, forget})
	var err error
	if e.IdempotencyKey != "" {
		w.found.keys[idempotencyKey{e.Service, string(e.AgentID), e.IdempotencyKey}] = keyedExecution{e.ID, engine.Nanos(keyUntil)}
		err = w.write(ctx, insertKey,
			e.Service, string(e.AgentID), e.IdempotencyKey, e.ID, engine.Nanos(keyUntil))
	}
	if err != nil {
		return err
	}
	_, err = w.book.Enter(ctx, ledger.Line{Execution: &e, By: ledger.ByAgent})
	return err
}

// admit sets the result for the chosen candidate.
func (b *beginOp) admit(w *work, winner int) {
	b.result = b.Admit(winner, w.t.Now())
	b.result.Execution.Deadline = w.t.Counted().Add(b.Hold)
	for _, r := range b.reservations[winner] {
		if r.carried {
			continue
		}
		// Expiry is computed from the slot of the clock. If the clock was set back, the slot in which the call is counted is later, and would
		// give a later expiry.
		p := r.key.Period
		if ends := p.Ends(p.Slot(w.t.Counted()) + w.limits.counters[r.key].own); !ends.IsZero() {
			if d := w.t.Since(b.requestedAt, ends); b.result.Expires == 0 || d < b.result.Expires {
				b.result.Expires = d
			}
		}
	}
}

// markUsed records the first call under the agreement, so that the agreement is kept.
func (b *beginOp) markUsed(w *work) {
	k := b.agreement()
	if b.calls.used.has(k) {
		return
	}
	w.agreements.used[k] = true
	w.t.After(func() { b.calls.used.add(k) })
}
