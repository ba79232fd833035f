package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uimgate/uimgate/store"
)

// A beginning is a BeginRequest prepared for a transaction.
type beginning struct {
	store.BeginRequest
	s            *Store
	asked        time.Time       // on the clock of the process
	reservations [][]reservation // of each candidate
	result       store.Admission
}

// Begin takes what a call needs: the nonce, the idempotency key, one unit of every limit and the charge, all of them or
// none. It writes an execution record where the call charges or has an idempotency key. Where an earlier execution
// under the key has ended, Admission.Replay is that record, even if the proof in the request is used up, and nothing is
// taken.
//
// Errors, after which nothing was taken: *store.LimitError (of the last candidate refused), store.ErrCredit,
// store.ErrNonceUsed, store.ErrKeyReused, store.ErrInProgress, store.ErrOutcomeUnknown, store.ErrUnavailable; and
// another error for an invalid request: no candidate, a negative charge, a record without id, an invalid rate.
func (s *Store) Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error) {
	b := beginning{BeginRequest: r, s: s, asked: s.opts.Now()}
	n, err := b.prepare()
	if err != nil {
		return store.Admission{}, fmt.Errorf("beginning a call: %w", err)
	}
	if b.takesNothing() {
		b.result = b.Admit(0, s.now())
		return b.result, nil
	}
	if s.full(n.agentID) {
		return store.Admission{}, unavailable(store.ErrQueueFull)
	}
	if err := s.call(ctx, n, b.run); err != nil {
		if _, open := errors.AsType[unsure](err); open {
			s.release(b.result)
		}
		return store.Admission{}, err
	}
	return b.result, nil
}

var (
	errNoCandidate = errors.New("no candidate permits the call")
	errCharge      = errors.New("the charge is no amount")
	errHold        = errors.New("a call needs the time it is held for, and its idempotency key the time it is kept for")
	errNoID        = errors.New("an execution that is recorded needs an id")
)

// prepare checks the request and lists all keys it may read or change.
func (b *beginning) prepare() (*rowSet, error) {
	if len(b.Candidates) == 0 {
		return nil, errNoCandidate
	}
	if b.Hold <= 0 || b.Execution.IdempotencyKey != "" && b.KeyFor <= 0 {
		return nil, errHold
	}
	e := b.Execution
	n := newRowSet(string(e.AgentID))
	if e.ID != "" {
		n.begins = append(n.begins, e.ID)
	}
	if e.IdempotencyKey != "" {
		n.keys = []idempotencyKey{{e.Service, string(e.AgentID), e.IdempotencyKey}}
	}
	if b.Nonce != nil {
		n.nonces = append(n.nonces, nonceKey{e.Service, string(b.Nonce.KeyID), b.Nonce.ID})
	}
	b.reservations = make([][]reservation, len(b.Candidates))
	for i, c := range b.Candidates {
		if c.Charge.Nano < 0 || c.Charge.Nano > 0 && c.Charge.Currency == "" {
			return nil, errCharge
		}
		if b.Execution.ID == "" && (c.Charge.Nano > 0 || b.Execution.IdempotencyKey != "") {
			return nil, errNoID
		}
		ws, err := joinReservations(b.Execution.Service, b.Limits, c.Limits)
		if err != nil {
			return nil, err
		}
		b.reservations[i] = ws
		for _, w := range ws {
			n.counters = append(n.counters, w.key)
		}
		if c.Charge.Nano > 0 {
			n.accounts = append(n.accounts, accountKey{e.Service, string(e.AgentID), c.Charge.Currency})
			if b.Billing.Unapproved {
				n.pools = append(n.pools, poolKey{e.Service, c.Charge.Currency})
			}
		}
	}
	return n, nil
}

// takesNothing reports whether the first candidate has no cost at all, so that nothing has to be written.
func (b *beginning) takesNothing() bool {
	return b.Nonce == nil && b.Execution.IdempotencyKey == "" && len(b.reservations[0]) == 0 &&
		b.Candidates[0].Charge.Nano == 0 && b.s.used.has(b.agreement())
}

func (b *beginning) agreement() agreementKey {
	return agreementKey{b.Execution.Service, string(b.Execution.AgreementID)}
}

// run checks everything before it changes anything.
func (b *beginning) run(ctx context.Context, t *tx) error {
	b.result = store.Admission{}
	e := b.Execution
	forgotten, err := b.earlier(t)
	if err != nil {
		return err
	}
	if b.result.Replay != nil {
		b.tellStanding(t)
		return nil
	}
	if t.waits {
		return unavailable(errMoved)
	}
	if n := b.Nonce; n != nil {
		if err := t.checkNonce(ctx, nonceKey{e.Service, string(n.KeyID), n.ID}); err != nil {
			return err
		}
	}
	winner, before, after, err := b.choose(ctx, t)
	if err != nil {
		return err
	}
	if forgotten != "" {
		if err := t.forgetKey(ctx, forgotten); err != nil {
			return err
		}
	}
	if n := b.Nonce; n != nil {
		if err := t.takeNonce(ctx, nonceKey{e.Service, string(n.KeyID), n.ID}, n.Until); err != nil {
			return err
		}
	}
	if before != after {
		if err := t.setAccount(before, after); err != nil {
			return err
		}
	}
	return b.record(ctx, t, winner)
}

// choose returns the first candidate whose limits and charge are available, and the account before and after the
// charge.
func (b *beginning) choose(ctx context.Context, t *tx) (winner int, before, after account, err error) {
	for i, c := range b.Candidates {
		if err = t.fit(b.reservations[i]); err != nil {
			continue
		}
		if c.Charge.Nano == 0 {
			return i, account{}, account{}, nil
		}
		before, after, err = t.charge(ctx, b.Execution.Service, string(b.Execution.AgentID), c.Charge, b.Billing)
		if !errors.Is(err, store.ErrCredit) {
			return i, before, after, err
		}
	}
	return 0, account{}, account{}, err
}

// earlier returns the effect of the execution under the same idempotency key: an error or a replay. An execution whose
// key has expired is returned by its id.
func (b *beginning) earlier(t *tx) (forgotten string, err error) {
	e := b.Execution
	key, known := t.keys[idempotencyKey{e.Service, string(e.AgentID), e.IdempotencyKey}]
	if !known {
		return "", nil
	}
	was := t.executions[key.id]
	if was == nil {
		return "", unavailable(fmt.Errorf("execution %s: %w", key.id, store.ErrNotFound))
	}
	ended := was.State == store.Captured || was.State == store.Released
	switch {
	case ended && key.until <= nanos(t.counted):
		return key.id, nil
	case was.Fingerprint != e.Fingerprint:
		return "", store.ErrKeyReused
	case was.State == store.Held && was.Deadline.After(t.counted):
		return "", store.ErrInProgress
	case !ended: // held past its deadline is unresolved, also before the sweeper has changed it
		return "", store.ErrOutcomeUnknown
	}
	replay := *was
	b.result.Replay = &replay
	return "", nil
}

// tellStanding tells how the limits stand which the earlier execution took, or would take under the first candidate.
func (b *beginning) tellStanding(t *tx) {
	was := max(0, slices.IndexFunc(b.Candidates, func(c store.Candidate) bool { return c.Rule == b.result.Replay.Rule }))
	for _, w := range b.reservations[was] {
		b.result.Standing = append(b.result.Standing, t.standing(w))
	}
}

// record takes the limits of the chosen candidate, and writes the record where the call charges or has a key.
func (b *beginning) record(ctx context.Context, t *tx, winner int) error {
	slots := t.take(b.reservations[winner])
	b.admit(t, winner)
	b.result.Taken = slots
	for _, w := range b.reservations[winner] {
		b.result.Standing = append(b.result.Standing, t.standing(w))
	}
	b.markUsed(t)
	if !b.result.Recorded {
		return nil
	}
	e := b.result.Execution
	keyUntil := t.counted.Add(b.KeyFor)
	var forget int64
	if e.Charge.Nano == 0 {
		forget = nanos(keyUntil)
	}
	if t.executions[e.ID] != nil { // an id that another call has: the table refuses it
		t.plain = false
	}
	set(&t.executions, e.ID, &e)
	t.begun = append(t.begun, began{&e, forget})
	var err error
	if e.IdempotencyKey != "" {
		set(&t.keys, idempotencyKey{e.Service, string(e.AgentID), e.IdempotencyKey}, keyedExecution{e.ID, nanos(keyUntil)})
		err = t.write(ctx, "INSERT INTO idempotency (service, agent_id, idem_key, execution_id, until) VALUES (?, ?, ?, ?, ?)",
			e.Service, string(e.AgentID), e.IdempotencyKey, e.ID, nanos(keyUntil))
	}
	t.enter(line{&e, "", store.Held, byAgent})
	return err
}

// admit sets the result: what was begun in the transaction.
func (b *beginning) admit(t *tx, winner int) {
	b.result = b.Admit(winner, t.now)
	b.result.Execution.Deadline = t.counted.Add(b.Hold)
	for _, w := range b.reservations[winner] {
		// The end is counted from the clock's own slot. Where the clock was set back the counted slot is later, and this end
		// is the earlier of the two.
		p := w.key.period
		if ends := p.Ends(p.Slot(t.counted) + t.counters[w.key].own); !ends.IsZero() {
			if d := t.since(b.asked, ends); b.result.Expires == 0 || d < b.result.Expires {
				b.result.Expires = d
			}
		}
	}
}

// markUsed records, once, that a call was made under the agreement, which is then kept.
func (b *beginning) markUsed(t *tx) {
	k := b.agreement()
	if b.s.used.has(k) {
		return
	}
	set(&t.used, k, true)
	t.after = append(t.after, func() { b.s.used.add(k) })
}
