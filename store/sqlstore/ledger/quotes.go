package ledger

import (
	"context"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// Affords returns nil if an agent could be charged an amount now. Otherwise, it returns the *store.CreditError that a call
// would fail with. It reserves nothing.
func (l *Ledger) Affords(ctx context.Context, service string, agent pat.AgentID, charge money.Amount, billing store.Billing) error {
	return l.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error {
		_, err := l.book(t).Price(ctx, service, string(agent), charge, billing)
		return err
	})
}
