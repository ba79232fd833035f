package ledger

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// enterPool checks that the debt of all unapproved agents of a service may grow by the given amount. Together they may owe at most credit,
// not counting the part of the debt that has faded. If they would owe more than that, enterPool returns store.ErrCredit, and the time until
// the debt, if it does not grow, will have faded enough; 0 means never.
func (b *Book) enterPool(ctx context.Context, k PoolKey, more, credit int64) (wait time.Duration, err error) {
	if b.pools[k] == nil {
		if err := b.t.Send(ctx, b.readPool(k)); err != nil {
			return 0, err
		}
	}
	p := b.pools[k]
	p.fade(b.t.Now(), credit)
	owed := p.owed + b.owed[k]
	if counts := max(0, owed-p.faded); more > credit-counts {
		return fadesIn(more-(credit-counts), more, credit), store.ErrCredit
	}
	p.charged, p.most = true, credit+min(p.faded, math.MaxInt64-credit)
	return 0, nil
}

// fadesIn returns the time until enough of the debt has faded for the debt to grow by the given amount.
func fadesIn(part, more, credit int64) time.Duration {
	if more > credit {
		return 0
	}
	return time.Duration(math.Ceil(float64(part) / float64(credit) * float64(store.PoolFades)))
}

const (
	selectPool   = "SELECT owed, faded, faded_at FROM pools WHERE service = ? AND currency = ? FOR UPDATE"
	chargeToPool = `INSERT INTO pools (service, currency, owed, faded, faded_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (service, currency) DO UPDATE SET owed = pools.owed + excluded.owed,
			faded = CASE WHEN excluded.faded < pools.owed THEN excluded.faded ELSE pools.owed END, faded_at = excluded.faded_at`
	chargeToPoolWithin = chargeToPool + " WHERE pools.owed + excluded.owed <= ?"
	setPool            = `INSERT INTO pools (service, currency, owed, faded, faded_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (service, currency) DO UPDATE SET owed = excluded.owed, faded = excluded.faded, faded_at = excluded.faded_at`
	addToPool = `INSERT INTO pools (service, currency, owed) VALUES (?, ?, ?)
		ON CONFLICT (service, currency) DO UPDATE SET owed = pools.owed + excluded.owed`
	// takeFromPool also reduces the faded amount if it would exceed the debt that is left.
	takeFromPool = `UPDATE pools SET owed = owed + ?, faded = CASE WHEN faded > owed + ? THEN owed + ? ELSE faded END
		WHERE service = ? AND currency = ?`
)

// readPool returns the statement that reads a pool. It returns nil if the pool is in the cache.
func (b *Book) readPool(k PoolKey) []engine.Command {
	p := new(pool)
	b.pools[k] = p
	if was, found := b.cache.pool(k); found {
		*p = pool{
			owed: was.Owed, faded: was.Faded, fadedAt: engine.FromNanos(was.FadedAt), storedFaded: was.Faded, storedAt: was.FadedAt,
		}
		return nil
	}
	return []engine.Command{{Query: selectPool, Args: []any{k.Service, k.Currency}, Row: func(scan engine.Scan) error {
		err := scan(&p.owed, &p.storedFaded, &p.storedAt)
		p.faded, p.fadedAt = p.storedFaded, engine.FromNanos(p.storedAt)
		return err
	}}}
}

// becomes returns a pool with the values that the statement of writePool sets.
func (b *Book) becomes(k PoolKey) Pool {
	more, p := b.owed[k], b.pools[k]
	out := Pool{PoolKey: k, Owed: p.owed + more, Faded: p.storedFaded, FadedAt: p.storedAt}
	switch {
	case more < 0:
		out.Faded = min(out.Faded, out.Owed)
	case p.charged:
		out.Faded, out.FadedAt = min(p.faded, p.owed), engine.Nanos(p.fadedAt)
	}
	return out
}

// Upsert returns the statement that writes a pool if no other process writes.
func (p Pool) Upsert() engine.Command {
	return engine.Command{Query: setPool, Args: []any{p.Service, p.Currency, p.Owed, p.Faded, p.FadedAt}}
}

// writePool returns the statement that changes a pool. The statement does not require that the pool is as it was read, because all
// unapproved agents share it. It only requires that the debt stays within the credit.
func (b *Book) writePool(k PoolKey) engine.Command {
	optimistic := b.t.Locking() == engine.Optimistic
	more, p := b.owed[k], b.pools[k]
	switch {
	case more < 0:
		return engine.Command{
			Query: takeFromPool, Args: []any{more, more, more, k.Service, k.Currency}, Must: int(engine.Flag(optimistic)),
		}
	case p == nil || !p.charged: // a top-up was reversed
		return engine.Command{Query: addToPool, Args: []any{k.Service, k.Currency, more}}
	}
	args := []any{k.Service, k.Currency, more, p.faded, engine.Nanos(p.fadedAt)}
	if !optimistic {
		return engine.Command{Query: chargeToPool, Args: args}
	}
	return engine.Command{Query: chargeToPoolWithin, Args: append(args, p.most), Must: 1}
}

// LeavePool removes the accounts of a newly approved agent from their pools.
func (l *Ledger) LeavePool(ctx context.Context, t *engine.Tx, service string, id pat.AgentID) error {
	b := l.book(t)
	for _, currency := range slices.Collect(engine.Values[string](ctx, t,
		"SELECT currency FROM accounts WHERE service = ? AND agent_id = ? AND pooled = 1 ORDER BY currency", service, id)) {
		before, err := b.account(ctx, AccountKey{service, string(id), currency})
		if err != nil {
			return err
		}
		after := before
		after.Pooled = false
		if err := b.set(before, after); err != nil {
			return err
		}
	}
	return b.Write(ctx)
}
