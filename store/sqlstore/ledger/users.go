package ledger

import (
	"cmp"
	"context"
	"slices"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const (
	selectPoolState = "SELECT owed, faded, faded_at FROM pools WHERE service = ? AND currency = ?"
	selectPooled    = "SELECT agent_id, held + captured - topped_up FROM accounts " +
		"WHERE service = ? AND currency = ? AND pooled = 1 AND held + captured > topped_up"
)

// Pool returns the common debt of the unapproved agents of a service, and at most the given number of users: those that owe most. credit is
// the largest amount that all unapproved agents together may owe; Pool reads the debt in its currency.
func (l *Ledger) Pool(ctx context.Context, service string, credit money.Amount, users int) (store.Pool, error) {
	var p pool
	var fadedAt int64
	of := []any{service, credit.Currency}
	if _, err := l.db.One(ctx, selectPoolState, of, &p.owed, &p.faded, &fadedAt); err != nil {
		return store.Pool{}, err
	}
	p.fadedAt = engine.FromNanos(fadedAt)
	p.fade(l.db.Now(), credit.Nano)
	amount := func(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: credit.Currency} }
	out := store.Pool{Owed: amount(p.owed), Counted: amount(max(0, p.owed-p.faded))}
	err := l.db.List(ctx, selectPooled, of, func(scan engine.Scan) error {
		var u store.PoolUser
		if err := scan(&u.AgentID, &u.Owed.Nano); err != nil {
			return err
		}
		u.Owed.Currency = credit.Currency
		out.Users = append(out.Users, u)
		if len(out.Users) > 2*users+16 {
			out.Users = largest(out.Users, users)
		}
		return nil
	})
	out.Users = largest(out.Users, users)
	return out, err
}

// largest returns the n agents that owe most, the largest debt first.
func largest(list []store.PoolUser, n int) []store.PoolUser {
	slices.SortFunc(list, func(a, b store.PoolUser) int {
		return cmp.Or(cmp.Compare(b.Owed.Nano, a.Owed.Nano), cmp.Compare(a.AgentID, b.AgentID))
	})
	return list[:min(n, len(list))]
}
