package ledger

import (
	"context"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// Affords returns nil if an agent could be charged an amount now. Otherwise, it returns the *store.CreditError with which a call would be
// refused. It reserves nothing.
func (l *Ledger) Affords(ctx context.Context, service string, agent pat.AgentID, charge money.Amount, billing store.Billing) error {
	return l.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error {
		_, err := l.book(t).Price(ctx, service, string(agent), charge, billing)
		return err
	})
}

// Unspent returns the part of the payments by a rail that an agent has not used: at most its balance.
func (l *Ledger) Unspent(ctx context.Context, service string, agent pat.AgentID, rail, currency string) (money.Amount, error) {
	var paid, balance int64
	_, err := l.db.One(ctx, `SELECT
		COALESCE((SELECT SUM(CASE kind WHEN 'refund' THEN -amount ELSE amount END) FROM payments
			WHERE service = ? AND agent_id = ? AND rail = ? AND currency = ? AND state = 'credited'), 0),
		COALESCE((SELECT topped_up - held - captured FROM accounts WHERE service = ? AND agent_id = ? AND currency = ?), 0)`,
		[]any{service, string(agent), rail, currency, service, string(agent), currency}, &paid, &balance)
	return money.Amount{Nano: max(0, min(paid, balance)), Currency: currency}, err
}
