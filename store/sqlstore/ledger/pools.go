package ledger

import (
	"context"
	"math"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A Pool is a row of pools, as it becomes; amounts are billionths of a unit.
type Pool struct {
	PoolKey

	Owed, Faded int64
	FadedAt     int64 // as in the table: nanoseconds since 1970 UTC, 0: never
}

// A PoolKey names a pool.
type PoolKey struct{ Service, Currency string }

// A pool is what the unapproved agents of a service owe together in one currency. A part of it has faded: it is owed, but
// counts no longer.
type pool struct {
	owed, faded int64     // as they were read; faded is part of owed
	fadedAt     time.Time // up to when; the zero time: it begins with the next charge
	// charged means that something was charged since: faded and fadedAt are then to be written. The pool may have most at
	// that moment, faded included.
	charged bool
	most    int64

	storedFaded, storedAt int64 // as they were read, without what has faded
}

// fade lets a part of the pool fade up to a moment: all of a credit within store.PoolFades.
func (p *pool) fade(now time.Time, credit int64) {
	past, part := now.Sub(p.fadedAt), int64(0)
	switch {
	case p.fadedAt.IsZero(), past < 0: // the clock was set back
	case past >= store.PoolFades:
		part = credit
	default:
		part = int64(float64(credit) * (float64(past) / float64(store.PoolFades)))
	}
	p.faded, p.fadedAt = min(p.owed, p.faded+min(part, math.MaxInt64-p.faded)), now
}

// enterPool checks that more may be owed by unapproved agents, who may owe credit together: store.ErrCredit.
func (b *Book) enterPool(ctx context.Context, k PoolKey, more, credit int64) error {
	if b.pools[k] == nil {
		if err := b.t.Send(ctx, b.readPool(k)); err != nil {
			return err
		}
	}
	p := b.pools[k]
	p.fade(b.t.Now(), credit)
	owed := p.owed + b.owed[k]
	if counts := max(0, owed-p.faded); more > credit-counts {
		return store.ErrCredit
	}
	p.charged, p.most = true, credit+min(p.faded, math.MaxInt64-credit)
	return nil
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
	// takeFromPool also takes what has faded where no more than that is left.
	takeFromPool = `UPDATE pools SET owed = owed + ?, faded = CASE WHEN faded > owed + ? THEN owed + ? ELSE faded END
		WHERE service = ? AND currency = ?`
)

// readPool returns the statement that reads a pool, if it has to be read.
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

// becomes returns a pool as the statement of writePool leaves it.
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

// Upsert returns the statement that writes a pool where no other process writes.
func (p Pool) Upsert() engine.Command {
	return engine.Command{Query: setPool, Args: []any{p.Service, p.Currency, p.Owed, p.Faded, p.FadedAt}}
}

// writePool returns the statement that changes a pool. What all unapproved agents share is not compared with what was
// read: it only has to stay within the credit.
func (b *Book) writePool(k PoolKey) engine.Command {
	optimistic := b.t.Locking() == engine.Optimistic
	more, p := b.owed[k], b.pools[k]
	switch {
	case more < 0:
		return engine.Command{
			Query: takeFromPool, Args: []any{more, more, more, k.Service, k.Currency}, Must: int(engine.Flag(optimistic)),
		}
	case p == nil || !p.charged: // a top-up was taken back
		return engine.Command{Query: addToPool, Args: []any{k.Service, k.Currency, more}}
	}
	args := []any{k.Service, k.Currency, more, p.faded, engine.Nanos(p.fadedAt)}
	if !optimistic {
		return engine.Command{Query: chargeToPool, Args: args}
	}
	return engine.Command{Query: chargeToPoolWithin, Args: append(args, p.most), Must: 1}
}

// LeavePool removes the accounts of an agent that was approved from the pool.
func (l *Ledger) LeavePool(ctx context.Context, t *engine.Tx, service string, id pat.AgentID) error {
	var keys []AccountKey
	err := t.Rows(ctx, "SELECT currency FROM accounts WHERE service = ? AND agent_id = ? AND pooled = 1 ORDER BY currency",
		[]any{service, id}, func(scan engine.Scan) error {
			k := AccountKey{Service: service, AgentID: string(id)}
			err := scan(&k.Currency)
			keys = append(keys, k)
			return err
		})
	if err != nil {
		return err
	}
	b := l.book(t)
	for _, k := range keys {
		before, err := b.account(ctx, k)
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
