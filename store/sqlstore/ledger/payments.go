package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// How long a payment is kept after it has ended.
const (
	paymentKept   = 400 * 24 * time.Hour
	unsettledKept = 24 * time.Hour // if the facilitator was not asked to settle it
)

// insertAttempts is how often enterPayment tries to write a payment while other payments of the agent begin and end.
const insertAttempts = 10

// never is the deletion time of payments that have not ended.
const never = int64(1) << 62

// Pay records a payment. If its state is PaymentCredited, it also enters the payment in the ledger, in the same transaction. If the payment
// was recorded before, Pay returns that record; if the record is unclaimed and p is credited, Pay enters it in the ledger. known reports
// whether the record existed.
//
// If most has a currency, which must be that of the payment, most limits the sum of the unused amounts that the agent has paid in by the
// rail, including a new payment. If the sum is larger, the error is a *store.UnspentError and nothing is recorded. An amount that is held
// for calls counts as not used, because it can be released.
//
// Errors:
//   - store.ErrReferenceUsed: another payment or top-up has the reference or, for an x402 payment, another service has it
//   - store.ErrPaymentIDUsed: another payment of the agent has the PaymentID
//   - store.ErrPaymentOpen: the payment waits for a settlement, and another payment of the agent has not ended
//   - store.ErrRefund: a refund is more than the agent has paid in
//   - money.ErrAmount: the amount is not positive, or the balance would be out of range
func (l *Ledger) Pay(ctx context.Context, p store.Payment, most money.Amount) (out store.Payment, known bool, err error) {
	if p.Amount.Nano <= 0 || p.Amount.Currency == "" {
		return p, false, fmt.Errorf("payment %s: %w", p.Amount, money.ErrAmount)
	}
	salt := l.Salt()
	err = l.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error {
		out, known = p, false
		b := l.book(t)
		// lock the account first: concurrent payments of an agent wait here
		if _, err := b.account(ctx, AccountKey{p.Service, string(p.AgentID), p.Amount.Currency}); err != nil {
			return err
		}
		if p.State == store.PaymentSettling {
			if err := unopened(ctx, t, p); err != nil {
				return err
			}
		}
		out.BegunAt = engine.FromNanos(engine.Nanos(t.Now()))
		out.ChangedAt = out.BegunAt
		if known, err = enterPayment(ctx, t, &out); err != nil {
			return err
		}
		if known {
			if !out.Same(&p) {
				return store.ErrReferenceUsed
			}
			if out.State != store.PaymentUnclaimed || p.State != store.PaymentCredited {
				t.Confirm()
				return nil
			}
			movePayment(ctx, t, &out, store.PaymentMove{To: store.PaymentCredited})
		} else if err := within(ctx, t, &out, most); err != nil {
			return err
		}
		if out.State != store.PaymentCredited {
			return nil
		}
		return b.credit(ctx, &out, salt)
	})
	return out, known, err
}

// within returns a *store.UnspentError if a payment and the unused amounts that its agent has paid in by its rail exceed most in total. It
// must be called after the row of the payment is written: then no other payment of the agent is being settled. It reads the account again,
// because another process may have created it meanwhile.
func within(ctx context.Context, t *engine.Tx, p *store.Payment, most money.Amount) error {
	if most.Currency == "" {
		return nil
	}
	var paid, unused int64
	agent := []any{p.Service, string(p.AgentID), p.Amount.Currency}
	t.Find(ctx, `SELECT
		COALESCE((SELECT SUM(CASE kind WHEN 'refund' THEN -amount ELSE amount END) FROM payments
			WHERE service = ? AND agent_id = ? AND currency = ? AND rail = ? AND state = 'credited' AND reference <> ?), 0),
		COALESCE((SELECT topped_up - captured FROM accounts WHERE service = ? AND agent_id = ? AND currency = ?), 0)`,
		slices.Concat(agent, []any{p.Rail, p.Reference}, agent), &paid, &unused)
	if unspent := max(0, min(paid, unused)); unspent > most.Nano-p.Amount.Nano {
		return &store.UnspentError{Unspent: money.Amount{Nano: unspent, Currency: p.Amount.Currency}, Most: most}
	}
	return nil
}

// credit enters a payment in the ledger, unless a top-up with its reference and content is there already.
func (b *Book) credit(ctx context.Context, p *store.Payment, salt []byte) error {
	u := store.TopUp{
		Service: p.Service, AgentID: p.AgentID, Amount: p.Amount, Reference: p.Reference, Reverse: p.Kind == store.PaymentRefund,
	}
	_, err := b.topUp(ctx, u, salt)
	if u.Reverse && errors.Is(err, money.ErrAmount) {
		return fmt.Errorf("%w: %w", store.ErrRefund, err)
	}
	return err
}

// MovePayment changes the state of a payment. If the payment becomes PaymentCredited, it is entered in the ledger in the same transaction.
// The error wraps store.ErrNotFound if the payment does not exist, store.ErrSettled if it has already ended in another state,
// store.ErrPaymentMoved as PaymentMove describes, and the errors of Pay.
func (l *Ledger) MovePayment(ctx context.Context, service, reference string, to store.PaymentMove) (out store.Payment, err error) {
	salt := l.Salt()
	err = l.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error {
		before, found := readPayment(ctx, t, service, reference)
		if !found {
			return store.ErrNotFound
		}
		agent := before.AgentID
		if to.AgentID != "" && before.State == store.PaymentUnclaimed {
			agent = to.AgentID
		}
		b := l.book(t)
		if _, err := b.account(ctx, AccountKey{service, string(agent), before.Amount.Currency}); err != nil { // lock in the order of Pay
			return err
		}
		out, _ = engine.Record(ctx, t, scanPayment, selectPayment+" FOR UPDATE", service, reference)
		switch {
		case out.State == to.To && out.State.Ended():
			t.Confirm()
			return nil
		case out.State.Ended():
			return store.ErrSettled
		case !to.After.IsZero() && !out.ChangedAt.Equal(to.After):
			return store.ErrPaymentMoved
		case out.State == store.PaymentUnclaimed:
			out.AgentID = agent
		}
		movePayment(ctx, t, &out, to)
		if out.State != store.PaymentCredited {
			return nil
		}
		return b.credit(ctx, &out, salt)
	})
	return out, err
}

// DropPayment deletes a payment in the state PaymentSettling for which the facilitator was not asked to settle anything. after is the value
// that ChangedAt must still have. The error is store.ErrPaymentMoved if the payment has changed or was deleted.
func (l *Ledger) DropPayment(ctx context.Context, service, reference string, after time.Time) error {
	return l.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error {
		if t.Run(ctx, "DELETE FROM payments WHERE service = ? AND reference = ? AND state = ? AND changed_at = ?", service, reference,
			string(store.PaymentSettling), engine.Nanos(after)) == 0 {
			return store.ErrPaymentMoved
		}
		return nil
	})
}

// unopened returns store.ErrPaymentOpen if another payment of the agent is being settled, or may have been.
func unopened(ctx context.Context, t *engine.Tx, p store.Payment) error {
	if t.Find(ctx, "SELECT reference FROM payments WHERE service = ? AND agent_id = ? AND state IN ('settling', 'unknown') "+
		"AND reference <> ? LIMIT 1", []any{p.Service, string(p.AgentID), p.Reference}) {
		return store.ErrPaymentOpen
	}
	return nil
}

// elsewhere returns store.ErrReferenceUsed if another service of the gateway has the x402 payment. The tokens are transferred for only
// one of them.
func elsewhere(ctx context.Context, t *engine.Tx, p store.Payment) error {
	if p.Rail == store.RailX402 && t.Find(ctx, "SELECT service FROM payments WHERE reference = ? AND rail = 'x402' AND service <> ? LIMIT 1",
		[]any{p.Reference, p.Service}) {
		return store.ErrReferenceUsed
	}
	return nil
}

// unused returns store.ErrPaymentIDUsed if another payment of the agent has the PaymentID.
func unused(ctx context.Context, t *engine.Tx, p store.Payment) error {
	if t.Find(ctx, "SELECT reference FROM payments WHERE service = ? AND agent_id = ? AND payment_id = ? AND payment_id <> '' "+
		"AND reference <> ?", []any{p.Service, string(p.AgentID), p.PaymentID, p.Reference}) {
		return store.ErrPaymentIDUsed
	}
	return nil
}

// enterPayment writes the row of a payment or, if there is one with its reference, reads that row into p. known reports whether the row
// existed. enterPayment returns an error if another payment prevents this one.
func enterPayment(ctx context.Context, t *engine.Tx, p *store.Payment) (known bool, err error) {
	for range insertAttempts {
		if insertPayment(ctx, t, p) {
			return false, nil
		}
		if found, known := readPayment(ctx, t, p.Service, p.Reference); known {
			*p = found
			return true, nil
		}
		if err := cmp.Or(elsewhere(ctx, t, *p), unopened(ctx, t, *p), unused(ctx, t, *p)); err != nil {
			return false, err
		}
		// On PostgreSQL, the payment that prevented this one has ended in the meantime.
	}
	return false, store.ErrPaymentOpen
}

// insertPayment writes the row of a payment, unless there is one with its reference or its PaymentID. An x402 payment has one row in all
// services.
func insertPayment(ctx context.Context, t *engine.Tx, p *store.Payment) bool {
	now, until := engine.Nanos(p.BegunAt), never
	if p.State.Ended() {
		until = engine.Nanos(p.BegunAt.Add(paymentKept))
	}
	return t.Run(ctx, `INSERT INTO payments (service, reference, agent_id, rail, kind, amount, currency, state, payload, digest, payment_id,
		tx, reason, begun_at, changed_at, next_at, ask_until, until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`,
		p.Service, p.Reference, string(p.AgentID), p.Rail, string(p.Kind), p.Amount.Nano, p.Amount.Currency, string(p.State),
		engine.Blob(p.Payload), p.Digest, p.PaymentID, p.Tx, p.Reason, now, now, engine.Nanos(p.NextAt), engine.Nanos(p.AskUntil), until) == 1
}

// movePayment writes the new state of a payment, and sets it in p.
func movePayment(ctx context.Context, t *engine.Tx, p *store.Payment, to store.PaymentMove) {
	until := never
	p.State, p.Reason, p.NextAt = to.To, to.Reason, to.NextAt
	p.ChangedAt = engine.FromNanos(engine.Nanos(t.Now()))
	if to.Tx != "" {
		p.Tx = to.Tx
	}
	kept := paymentKept
	if to.Payload != nil {
		p.Payload = to.Payload
	}
	if to.To == store.PaymentFailed && p.Rail == store.RailX402 && len(p.Payload) == 0 {
		kept = unsettledKept
	}
	if p.State.Ended() { // the payload is no longer needed
		until, p.Payload, p.NextAt = engine.Nanos(p.ChangedAt.Add(kept)), nil, time.Time{}
	}
	t.Run(ctx, `UPDATE payments SET agent_id = ?, state = ?, payload = ?, tx = ?, reason = ?, changed_at = ?, next_at = ?, until = ?
		WHERE service = ? AND reference = ?`, string(p.AgentID), string(p.State), engine.Blob(p.Payload), p.Tx, p.Reason,
		engine.Nanos(p.ChangedAt), engine.Nanos(p.NextAt), until, p.Service, p.Reference)
}

const (
	paymentColumns = "service, reference, agent_id, rail, kind, amount, currency, state, payload, digest, payment_id, tx, reason, begun_at, " +
		"changed_at, next_at, ask_until"
	selectPayment = "SELECT " + paymentColumns + " FROM payments WHERE service = ? AND reference = ?"
)

// scanPayment reads a row of paymentColumns.
func scanPayment(scan engine.Scan) (p store.Payment, err error) {
	err = scan(&p.Service, &p.Reference, &p.AgentID, &p.Rail, &p.Kind, &p.Amount.Nano, &p.Amount.Currency, &p.State, &p.Payload, &p.Digest,
		&p.PaymentID, &p.Tx, &p.Reason, engine.Stored(&p.BegunAt), engine.Stored(&p.ChangedAt), engine.Stored(&p.NextAt),
		engine.Stored(&p.AskUntil))
	return p, err
}

func readPayment(ctx context.Context, t *engine.Tx, service, reference string) (p store.Payment, found bool) {
	return engine.Record(ctx, t, scanPayment, selectPayment, service, reference)
}

// Payment returns one payment. The error is store.ErrNotFound if the payment does not exist.
func (l *Ledger) Payment(ctx context.Context, service, reference string) (store.Payment, error) {
	return engine.First(ctx, l.db, store.ErrNotFound, selectPayment, []any{service, reference}, scanPayment)
}

// Payments returns payments, the newest first.
func (l *Ledger) Payments(ctx context.Context, f store.PaymentFilter) ([]store.Payment, error) {
	var q engine.Conditions
	q.Equal("service", f.Service)
	q.Equal("agent_id", string(f.AgentID))
	q.Equal("state", string(f.State))
	if f.After != "" {
		q.Add("(begun_at, reference) < ((SELECT begun_at FROM payments WHERE service = ? AND reference = ?), ?)", f.Service, f.After, f.After)
	}
	query := q.Query("SELECT "+paymentColumns+" FROM payments", "ORDER BY begun_at DESC, reference DESC", f.Limit)
	return engine.All(ctx, l.db, query, q.Args, scanPayment)
}

// OpenPayment returns the payment of an agent that is being settled, or may have been. found is false if there is none.
func (l *Ledger) OpenPayment(ctx context.Context, service, agent string) (p store.Payment, found bool, err error) {
	list, err := engine.All(ctx, l.db, "SELECT "+paymentColumns+" FROM payments WHERE service = ? AND agent_id = ? AND "+
		"state IN ('settling', 'unknown') ORDER BY begun_at LIMIT 1", []any{service, agent}, scanPayment)
	if err != nil || len(list) == 0 {
		return store.Payment{}, false, err
	}
	return list[0], true, nil
}

// DuePayments returns up to limit payments that the facilitator must be asked about by the given time, the most overdue first.
func (l *Ledger) DuePayments(ctx context.Context, by time.Time, limit int) ([]store.Payment, error) {
	return engine.All(ctx, l.db, "SELECT "+paymentColumns+" FROM payments WHERE next_at > 0 AND next_at <= ? ORDER BY next_at LIMIT ?",
		[]any{engine.Nanos(by), limit}, scanPayment)
}
