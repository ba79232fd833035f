// Package journal is the form in which a transaction of calls is made durable before the tables have it: one record of what it changed,
// in a row. Records that follow each other are merged, and written into the tables together; what is there is then the same as if
// each had been written by itself.
package journal

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
)

// A Record is what one transaction changed.
type Record struct {
	At       time.Time // of the transaction; all that happened in it has this time
	Lines    []Line    // in their order
	Counters []Counter // each once
	Accounts []Account // each once
	Pools    []Pool    // each once
	Used     []Agreement
}

// A Line is a change of an execution that charges, by its agent.
type Line struct {
	// Execution is the record as it became. It has no idempotency key where it began, and only what a ledger tells, its times and
	// its outcome where it did not. Nothing of it changes any more.
	Execution *store.Execution
	From      store.State // empty: it began, and has no other time than that and its deadline
}

// A Counter is a row of counters, as it became.
type Counter struct {
	CounterKey

	Slot, Dispatch, DispatchSlot int64
	Counts                       []byte
}

// A CounterKey names a row of counters.
type CounterKey struct {
	Service, AgentID, LimitID string
	Period                    limit.Period
}

// An Account is a row of accounts, as it became; amounts are billionths of a unit.
type Account struct {
	AccountKey

	ToppedUp, Held, Captured int64
	Pooled                   bool
}

// An AccountKey names a row of accounts.
type AccountKey struct{ Service, AgentID, Currency string }

// A Pool is a row of pools, as it became; amounts are billionths of a unit.
type Pool struct {
	PoolKey

	Owed, Faded int64
	FadedAt     int64 // as in the table: nanoseconds since 1970 UTC, 0: never
}

// A PoolKey names a row of pools.
type PoolKey struct{ Service, Currency string }

// An Agreement was first used.
type Agreement struct{ Service, ID string }

// A Move is what became of an execution that is in the table.
type Move struct {
	From store.State      // as the table has it
	To   *store.Execution // State, Outcome, SettledAt and UnresolvedAt are to be written
}

// Empty reports whether nothing was changed.
func (r *Record) Empty() bool {
	return len(r.Lines)+len(r.Counters)+len(r.Accounts)+len(r.Pools)+len(r.Used) == 0
}

// valid reports whether a record makes sense: only such are written, and only such are read.
func (r *Record) valid() bool {
	for _, l := range r.Lines {
		if !l.valid(r.At) {
			return false
		}
	}
	for i := range r.Counters {
		if p := r.Counters[i].Period; !p.Rolling() && !p.Calendar() && p != limit.Lifetime {
			return false
		}
	}
	for i := range r.Accounts {
		if a := &r.Accounts[i]; a.ToppedUp < 0 || a.Held < 0 || a.Captured < 0 || a.Currency == "" {
			return false
		}
	}
	for i := range r.Pools {
		if p := &r.Pools[i]; p.Owed < 0 || p.Faded < 0 || p.Currency == "" {
			return false
		}
	}
	return true
}

func (l Line) valid(at time.Time) bool {
	e := l.Execution
	if e.ID == "" || e.Charge.Nano <= 0 || e.Charge.Currency == "" {
		return false
	}
	now := nanos(at)
	if l.From == "" {
		return e.State == store.Held && e.Outcome == "" && e.IdempotencyKey == "" && nanos(e.BegunAt) == now &&
			e.SettledAt.IsZero() && e.UnresolvedAt.IsZero()
	}
	switch e.Outcome {
	case store.NotSent, store.Failed, store.Done, store.Unknown:
	default:
		return false
	}
	settled, unresolved := !e.SettledAt.IsZero(), !e.UnresolvedAt.IsZero()
	switch e.State {
	case store.Captured, store.Released:
		known := l.From == store.Held && !unresolved || l.From == store.Unresolved && unresolved
		return known && settled && nanos(e.SettledAt) == now
	case store.Unresolved:
		return l.From == store.Held && !settled && unresolved && nanos(e.UnresolvedAt) == now
	default:
		return false
	}
}

// Pending is what records of one database have changed that its tables do not have yet. The zero value is nothing. It is not safe for
// concurrent use.
type Pending struct {
	Lines    []Line             // of the ledger, in their order
	Begun    []*store.Execution // in the order in which they began; as they became since
	Moved    []Move             // the others that have changed
	Counters map[CounterKey]Counter
	Accounts map[AccountKey]Account
	Pools    map[PoolKey]Pool
	Used     map[Agreement]time.Time
	Records  int

	begun map[string]int // id → its place in Begun
	moved map[string]int // the same, in Moved
}

// Empty reports whether there is nothing.
func (p *Pending) Empty() bool { return p.Records == 0 }

// Size returns how many rows are to be written, about.
func (p *Pending) Size() int {
	return len(p.Lines) + len(p.Counters) + len(p.Accounts) + len(p.Pools) + len(p.Used)
}

// Began reports whether an execution began in what is pending.
func (p *Pending) Began(id string) bool {
	_, found := p.begun[id]
	return found
}

// Add adds the record that comes next.
func (p *Pending) Add(r *Record) {
	if p.begun == nil {
		*p = Pending{
			Counters: map[CounterKey]Counter{}, Accounts: map[AccountKey]Account{}, Pools: map[PoolKey]Pool{}, Used: map[Agreement]time.Time{},
			begun: map[string]int{}, moved: map[string]int{},
		}
	}
	p.Records++
	p.Lines = append(p.Lines, r.Lines...)
	for _, l := range r.Lines {
		p.add(l)
	}
	for _, c := range r.Counters {
		p.Counters[c.CounterKey] = c
	}
	for _, a := range r.Accounts {
		p.Accounts[a.AccountKey] = a
	}
	for _, pool := range r.Pools {
		p.Pools[pool.PoolKey] = pool
	}
	for _, a := range r.Used {
		if _, before := p.Used[a]; !before {
			p.Used[a] = r.At
		}
	}
}

func (p *Pending) add(l Line) {
	e := l.Execution
	if l.From == "" {
		p.begun[e.ID] = len(p.Begun)
		p.Begun = append(p.Begun, e)
		return
	}
	if i, found := p.begun[e.ID]; found {
		became := *p.Begun[i] // the line shows it as it began
		became.State, became.Outcome, became.SettledAt, became.UnresolvedAt = e.State, e.Outcome, e.SettledAt, e.UnresolvedAt
		p.Begun[i] = &became
		return
	}
	if i, found := p.moved[e.ID]; found {
		p.Moved[i].To = e
		return
	}
	p.moved[e.ID] = len(p.Moved)
	p.Moved = append(p.Moved, Move{From: l.From, To: e})
}
