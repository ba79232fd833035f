package records

import (
	"context"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// SetBudget records the changed budget of a consent. number counts the changes of the consent, from 1. It returns store.ErrUsed if that
// change was recorded before, store.ErrFull if number is above store.MaxBudgets, and pat.ErrRevoked unless the agreement is active.
func (s *Records) SetBudget(ctx context.Context, service string, id pat.AgreementID, number int, b pat.SignedBudget) error {
	if number > store.MaxBudgets {
		return store.ErrFull
	}
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		var state pat.AgreementState
		var newest int
		of := []any{service, id}
		t.Find(ctx, "SELECT state FROM agreements WHERE service = ? AND id = ? FOR UPDATE", of, &state)
		if state != pat.AgreementActive {
			return pat.ErrRevoked
		}
		t.Find(ctx, "SELECT COALESCE(MAX(number), 0) FROM budgets WHERE service = ? AND agreement_id = ?", of, &newest)
		if newest != number-1 {
			return store.ErrUsed
		}
		return used(t.Run(ctx, `INSERT INTO budgets (service, agreement_id, number, record, created_at, public_key)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, service, id, number, b.Record, engine.Nanos(t.Now()), b.PublicKey), nil)
	})
}

// Budget returns the newest changed budget of a consent, with its number. It returns store.ErrNotFound if the person has not changed the
// budget.
func (s *Records) Budget(ctx context.Context, service string, id pat.AgreementID) (record string, number int, err error) {
	err = present(s.db.One(ctx, "SELECT record, number FROM budgets WHERE service = ? AND agreement_id = ? ORDER BY number DESC LIMIT 1",
		[]any{service, id}, &record, &number))
	return record, number, err
}

// Budgets returns the changed budgets of a consent, the oldest first: at most store.MaxBudgets. A budget that a process of an earlier
// release recorded has no PublicKey.
func (s *Records) Budgets(ctx context.Context, service string, id pat.AgreementID) ([]pat.SignedBudget, error) {
	return engine.All(ctx, s.db, "SELECT record, public_key FROM budgets WHERE service = ? AND agreement_id = ? ORDER BY number",
		[]any{service, id}, func(scan engine.Scan) (b pat.SignedBudget, err error) {
			err = scan(&b.Record, &b.PublicKey)
			return b, err
		})
}
