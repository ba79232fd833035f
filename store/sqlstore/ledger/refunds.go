package ledger

import (
	"context"
	"fmt"
	"math"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// Refund returns a captured charge, or a part of it, to the credit of its agent, and numbers its credit note. repeated is true if the same
// refund was made before, under the same name; then nothing changes. Errors: store.ErrNotFound, store.ErrNotCaptured, *store.RefundError,
// store.ErrReferenceUsed if a refund of the execution with that name has another amount, and money.ErrAmount.
func (l *Ledger) Refund(ctx context.Context, r store.Refund) (made store.Refund, repeated bool, err error) {
	if r.Amount.Nano < 0 || r.Amount.Nano == 0 && r.Amount.Currency != "" {
		return store.Refund{}, false, fmt.Errorf("refunding %s: %w", r.Amount, money.ErrAmount)
	}
	salt := l.Salt()
	err = l.db.Update(ctx, func(ctx context.Context, t *engine.Tx) (err error) {
		made, repeated = r, false
		if err := captured(ctx, t, &made); err != nil {
			return err
		}
		// Lock the account: concurrent refunds of an execution wait here.
		b := l.book(t)
		k := AccountKey{r.Service, string(made.AgentID), made.Charge.Currency}
		before, err := b.account(ctx, k)
		if err != nil {
			return err
		}
		var left int64
		if repeated, left, err = refunded(ctx, t, &made); err != nil || repeated {
			return err
		}
		if r.Amount.IsZero() {
			made.Amount = money.Amount{Nano: left, Currency: made.Charge.Currency}
		}
		switch {
		case made.Amount.Currency != made.Charge.Currency:
			return fmt.Errorf("refunding %s of a charge of %s: %w", made.Amount, made.Charge, money.ErrAmount)
		case left == 0 || made.Amount.Nano > left:
			return &store.RefundError{Left: money.Amount{Nano: left, Currency: made.Charge.Currency}}
		case made.Amount.Nano > math.MaxInt64-before.ToppedUp:
			return fmt.Errorf("refunding %s to %s: the balance would be too large: %w", made.Amount, made.AgentID, money.ErrAmount)
		}
		return b.refund(ctx, before, &made, salt)
	})
	if err != nil {
		return store.Refund{}, false, err
	}
	return made, repeated, nil
}

// captured reads the charge that a refund is about.
func captured(ctx context.Context, t *engine.Tx, r *store.Refund) error {
	var state store.State
	found := t.Find(ctx, "SELECT agent_id, intent, rule, amount, currency, state, settled_at FROM executions WHERE id = ? AND service = ?",
		[]any{r.ExecutionID, r.Service}, &r.AgentID, &r.Intent, &r.Rule, &r.Charge.Nano, &r.Charge.Currency, &state, engine.Stored(&r.ChargedAt))
	switch {
	case !found:
		return store.ErrNotFound
	case state != store.Captured || r.Charge.IsZero():
		return store.ErrNotCaptured
	}
	return nil
}

// refunded reports whether a refund was made before. If so, it sets r to that refund. left is the part of the charge that was not refunded.
func refunded(ctx context.Context, t *engine.Tx, r *store.Refund) (repeated bool, left int64, err error) {
	left = r.Charge.Nano
	var same *store.Refund
	for one := range engine.Records(ctx, t, scanRefund, "SELECT "+refundColumns+" FROM refunds WHERE service = ? AND execution_id = ?",
		r.Service, r.ExecutionID) {
		left -= one.Amount.Nano
		if one.Reference() == r.Reference() {
			same = &one
		}
	}
	switch {
	case same == nil:
		return false, left, nil
	case !r.Amount.IsZero() && same.Amount != r.Amount:
		return false, left, store.ErrReferenceUsed
	}
	*r = *same
	return true, left, nil
}

// refund makes a refund: it raises the balance, and adds the refund to the ledger, to the chain of the account and to the credit notes.
func (b *Book) refund(ctx context.Context, before Account, r *store.Refund, salt []byte) (err error) {
	after := before
	after.ToppedUp += r.Amount.Nano
	if err := b.set(before, after); err != nil {
		return err
	}
	r.K, r.At = after.Lines, b.t.Now()
	top := store.TopUp{Service: r.Service, AgentID: r.AgentID, Amount: r.Amount, Reference: r.Reference()}
	if err := b.enterTopUp(ctx, top, r.Amount, salt); err != nil {
		return err
	}
	r.Number = nextDocument(ctx, b.t, r.Service, CreditNotes)
	b.t.Run(ctx, `INSERT INTO refunds (service, number, execution_id, agent_id, intent, rule, charge, amount, currency, charged_at,
		reference, reason, at, k, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.Service, r.Number, r.ExecutionID, string(r.AgentID), r.Intent, r.Rule, r.Charge.Nano, r.Amount.Nano, r.Amount.Currency,
		engine.Nanos(r.ChargedAt), top.Reference, r.Reason, engine.Nanos(r.At), r.K, r.Document)
	return nil
}

// The kinds of documents that have numbers. A credit note has the number of its refund.
const (
	CreditNotes = "credit-note"
	Invoices    = "invoice"
)

// nextDocument returns the next number of a kind of documents. The row stays locked until the transaction ends, so the numbers have no
// gaps.
func nextDocument(ctx context.Context, t *engine.Tx, service, kind string) (n int64) {
	t.Run(ctx, `INSERT INTO document_numbers (service, kind, n) VALUES (?, ?, 1)
		ON CONFLICT (service, kind) DO UPDATE SET n = document_numbers.n + 1`, service, kind)
	t.Find(ctx, "SELECT n FROM document_numbers WHERE service = ? AND kind = ?", []any{service, kind}, &n)
	return n
}

const refundColumns = "service, number, execution_id, agent_id, intent, rule, charge, amount, currency, charged_at, reference, reason, at, k, document"

func scanRefund(scan engine.Scan) (r store.Refund, err error) {
	var reference string
	err = scan(&r.Service, &r.Number, &r.ExecutionID, &r.AgentID, &r.Intent, &r.Rule, &r.Charge.Nano, &r.Amount.Nano, &r.Amount.Currency,
		engine.Stored(&r.ChargedAt), &reference, &r.Reason, engine.Stored(&r.At), &r.K, &r.Document)
	r.Charge.Currency = r.Amount.Currency
	if prefix := (&store.Refund{ExecutionID: r.ExecutionID}).Reference(); len(reference) >= len(prefix) {
		r.Name = reference[len(prefix):]
	}
	return r, err
}

// Refunds returns refunds, those with the highest numbers first.
func (l *Ledger) Refunds(ctx context.Context, f store.RefundFilter) ([]store.Refund, error) {
	var q engine.Conditions
	q.Add("service = ?", f.Service)
	q.Equal("agent_id", string(f.AgentID))
	q.Equal("execution_id", f.ExecutionID)
	if f.Number > 0 {
		q.Add("number = ?", f.Number)
	}
	if f.Before > 0 {
		q.Add("number < ?", f.Before)
	}
	return engine.All(ctx, l.db, q.Query("SELECT "+refundColumns+" FROM refunds", "ORDER BY number DESC", f.Limit), q.Args, scanRefund)
}
