package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/store"
)

// Defaults for a BeginRequest that does not say.
const (
	defaultHold   = time.Minute
	defaultKeyFor = 24 * time.Hour
)

// A beginning is a BeginRequest made ready to run.
type beginning struct {
	store.BeginRequest
	s      *Store
	wants  [][]want // of each candidate
	result store.Begun
}

// Begin implements store.Executions. An earlier execution under the idempotency key is looked for
// first: a repeated request is told what happened, even if the proof it repeats is used up. A request that
// makes no sense (no candidate, a negative charge, a record without id) is refused with an error of its own.
func (s *Store) Begin(ctx context.Context, r store.BeginRequest) (store.Begun, error) {
	b := beginning{BeginRequest: r, s: s}
	keys, err := b.prepare()
	if err != nil {
		return store.Begun{}, fmt.Errorf("beginning a call: %w", err)
	}
	if b.takesNothing() {
		b.admit(s.now(), 0)
		return b.result, nil
	}
	if len(s.queue) >= cap(s.queue)-cap(s.queue)/settleShare {
		return store.Begun{}, unavailable(errQueueFull)
	}
	if err := s.update(ctx, b.run, keys...); err != nil {
		return store.Begun{}, err
	}
	return b.result, nil
}

// settleShare keeps a quarter of the queue from new calls: what was begun must still find room to end.
const settleShare = 4

var (
	errNoCandidate = errors.New("no candidate permits the call")
	errCharge      = errors.New("the charge is no amount")
	errNoID        = errors.New("an execution that is recorded needs an id")
)

// prepare checks the request and lists every counter it may touch.
func (b *beginning) prepare() ([]counterKey, error) {
	if len(b.Candidates) == 0 {
		return nil, errNoCandidate
	}
	if b.Hold <= 0 {
		b.Hold = defaultHold
	}
	if b.KeyFor <= 0 {
		b.KeyFor = defaultKeyFor
	}
	var keys []counterKey
	b.wants = make([][]want, len(b.Candidates))
	for i, c := range b.Candidates {
		if c.Charge.Nano < 0 || c.Charge.Nano > 0 && c.Charge.Currency == "" {
			return nil, errCharge
		}
		if b.Execution.ID == "" && (c.Charge.Nano > 0 || b.Execution.IdempotencyKey != "") {
			return nil, errNoID
		}
		ws, err := wants(b.Execution.Service, b.Limits, c.Limits)
		if err != nil {
			return nil, err
		}
		b.wants[i] = ws
		for _, w := range ws {
			keys = append(keys, w.key)
		}
	}
	return keys, nil
}

// takesNothing reports whether the first candidate costs nothing at all, so that nothing has to be written.
func (b *beginning) takesNothing() bool {
	return b.Nonce == nil && b.Execution.IdempotencyKey == "" && len(b.wants[0]) == 0 &&
		b.Candidates[0].Charge.Nano == 0 && b.s.used.has(b.agreement())
}

func (b *beginning) agreement() agreementKey {
	return agreementKey{b.Execution.Service, b.Execution.AgreementID}
}

func (b *beginning) run(ctx context.Context, t *tx) error {
	b.result = store.Begun{}
	if b.Execution.IdempotencyKey != "" {
		earlier, err := b.earlier(ctx, t)
		if err != nil || earlier != nil {
			b.result.Replay = earlier
			return err
		}
	}
	if n := b.Nonce; n != nil {
		if fresh, err := t.useNonce(ctx, b.Execution.Service, n.KeyID, n.ID, n.Until); err != nil {
			return err
		} else if !fresh {
			return store.ErrNonceUsed
		}
	}
	var refusal error
	for i, c := range b.Candidates {
		if refusal = t.fit(b.wants[i]); refusal != nil {
			continue
		}
		if c.Charge.Nano == 0 {
			return b.record(ctx, t, i)
		}
		charged, err := t.charge(ctx, b.Execution.Service, b.Execution.AgentID, c.Charge, b.Billing)
		switch {
		case errors.Is(err, store.ErrCredit):
			refusal = err
		case err != nil:
			return err
		default:
			if err := charged(ctx); err != nil {
				return err
			}
			return b.record(ctx, t, i)
		}
	}
	return refusal
}

// earlier finds what became of the execution under the same idempotency key. Neither an execution nor
// an error: there is none that still matters.
func (b *beginning) earlier(ctx context.Context, t *tx) (*store.Execution, error) {
	e := b.Execution
	var id string
	var until int64
	found, err := t.row(ctx, "SELECT execution_id, until FROM idempotency WHERE service = ? AND agent_id = ? AND idem_key = ? FOR UPDATE",
		[]any{e.Service, e.AgentID, e.IdempotencyKey}, &id, &until)
	if err != nil || !found {
		return nil, err
	}
	was, err := t.execution(ctx, e.Service, id)
	if err != nil {
		return nil, err
	}
	ended := was.State == store.Captured || was.State == store.Released
	switch {
	case ended && until <= nanos(t.now):
		return nil, t.forgetKey(ctx, id)
	case was.Fingerprint != e.Fingerprint:
		return nil, store.ErrKeyReused
	case was.State == store.Held && was.Deadline.After(t.now):
		return nil, store.ErrInProgress
	case !ended: // held past its deadline is unresolved, though the sweeper has not come by yet
		return nil, store.ErrOutcomeUnknown
	}
	if was.Answer, err = t.answer(ctx, id); err != nil {
		return nil, err
	}
	return &was, nil
}

// record takes the limits of the candidate that won, and writes the execution down where it charges or
// carries a key.
func (b *beginning) record(ctx context.Context, t *tx, winner int) error {
	slots := t.take(b.wants[winner])
	b.admit(t.now, winner)
	b.result.Took = slots
	for _, w := range b.wants[winner] {
		b.result.Standing = append(b.result.Standing, t.standing(w))
	}
	if err := b.markUsed(ctx, t); err != nil || !b.result.Recorded {
		return err
	}
	e := &b.result.Execution
	keyUntil := t.now.Add(b.KeyFor)
	var forget int64
	if e.Charge.Nano == 0 {
		forget = nanos(keyUntil)
	}
	_, err := t.exec(ctx, `INSERT INTO executions (id, service, agent_id, idem_key, fingerprint, intent, agreement_id, token_id, policy_digest,
		rule, amount, currency, state, outcome, begun_at, deadline, forget_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?)`,
		e.ID, e.Service, e.AgentID, e.IdempotencyKey, e.Fingerprint, e.Intent, e.AgreementID, e.TokenID, e.PolicyDigest,
		e.Rule, e.Charge.Nano, e.Charge.Currency, string(store.Held), nanos(e.BegunAt), nanos(e.Deadline), forget)
	if err != nil {
		return err
	}
	if e.IdempotencyKey != "" {
		n, err := t.exec(ctx, `INSERT INTO idempotency (service, agent_id, idem_key, execution_id, until) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, e.Service, e.AgentID, e.IdempotencyKey, e.ID, nanos(keyUntil))
		if err != nil {
			return err
		}
		if n == 0 { // somebody else began it this moment
			return store.ErrInProgress
		}
	}
	return t.enter(ctx, *e, "", store.Held, byAgent)
}

// admit says what was begun at now.
func (b *beginning) admit(now time.Time, winner int) {
	c := b.Candidates[winner]
	e := b.Execution
	e.Rule, e.Charge, e.State, e.Outcome, e.Answer = c.Rule, c.Charge, store.Held, "", nil
	e.BegunAt, e.Deadline, e.SettledAt = now, now.Add(b.Hold), time.Time{}
	b.result = store.Begun{Execution: e, Recorded: c.Charge.Nano > 0 || e.IdempotencyKey != ""}
	for _, w := range b.wants[winner] {
		// The end is counted from the clock's own slot. Where the clock was set back the counted slot is
		// later, and this the shorter of the two.
		p := w.key.period
		if ends := p.Expires(p.Slot(now)); !ends.IsZero() {
			if d := ends.Sub(now); b.result.Expires == 0 || d < b.result.Expires {
				b.result.Expires = d
			}
		}
	}
}

// markUsed notes, once, that a call was made under the agreement, which makes it worth keeping.
func (b *beginning) markUsed(ctx context.Context, t *tx) error {
	k := b.agreement()
	if b.s.used.has(k) {
		return nil
	}
	_, err := t.exec(ctx, "UPDATE agreements SET used_at = ? WHERE service = ? AND id = ? AND used_at = 0", nanos(t.now), k.service, k.id)
	t.after = append(t.after, func() { b.s.used.add(k) })
	return err
}

// useNonce uses a nonce up, and reports whether it was unused.
func (t *tx) useNonce(ctx context.Context, service, keyID, id string, until time.Time) (bool, error) {
	n, err := t.exec(ctx, "INSERT INTO nonces (service, key_id, id, until) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		service, keyID, id, nanos(until))
	return n == 1, err
}
