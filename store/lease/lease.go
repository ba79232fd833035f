// Package lease takes units of limits from the store in advance, so that a call that only counts towards limits is admitted from memory,
// without a write.
//
//	leases := lease.New(engine, lease.Options{Now: time.Now})
//	go leases.Run(ctx, report)
//	admission, err := leases.Begin(ctx, request) // like the engine's own Begin
//	defer leases.Close()
//
// A lease is a number of units of one limit in one slot. The store counts the units as used before the holder receives them. So no window
// ever contains more than the limit, even if the holder is killed; units that are lost in a crash count as used. If the state is restored
// from an earlier copy, which may not include the units, all leases end. The clock of the store determines the slot. The holder measures
// the time to the end of the slot from the start of its request, on the monotonic clock and on the wall clock, and uses the earlier end. So
// if a process was stopped or a machine was suspended for longer than that, its leases have expired when it continues. The holder returns
// the unused units of a lease once, after it has stopped admitting calls on the lease.
//
// Only rolling limits of at least a certain size are leased, and only for calls without a record. All other calls go through the store's
// own Begin, for which leased units count as used.
package lease

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A Store leases units, and begins the calls that are not admitted on leases.
type Store interface {
	Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error)
	Settle(ctx context.Context, a store.Admission, to store.Settlement) (store.Execution, error)
	// Lease runs one transaction. After ErrUnavailable, it is unknown whether the transaction was committed.
	Lease(ctx context.Context, r store.LeaseRequest) ([]store.Lease, error)
	// Fits returns the states of limits, in their order, and takes nothing. If one of them admits no call, it also returns a
	// *store.LimitError.
	Fits(ctx context.Context, service string, of []store.Reservation) ([]limit.Status, error)
	// RestoredAt returns when the state was last restored from an earlier copy, as far as this process knows; the zero time means never. It
	// must be fast.
	RestoredAt() time.Time
	// Used reports whether there is a record of a call under the agreement, as far as this process can determine without the database.
	Used(service string, id pat.AgreementID) bool
}

// Options are the options of New. All fields except Now are optional.
type Options struct {
	// Now is the clock of this process. It is required.
	Now func() time.Time
	// Elapsed is a monotonic clock. By default, it is the time since New, by the monotonic readings of Now.
	Elapsed func() time.Duration
	// Sole means that no other process takes units from the store. The number of remaining units in the store then stays valid for longer.
	Sole bool
}

// bounds are the limits of a Holder.
type bounds struct {
	from     int64         // the smallest Max of a limit that is leased
	turn     time.Duration // how long units and refusals are kept if slots are longer
	keys     int           // maximum number of entries; calls under further limits go through the store
	patience time.Duration // the longest wait for the store
}

var defaults = bounds{from: limit.LeaseFrom, turn: 10 * time.Second, keys: 32 << 10, patience: 5 * time.Second}

// sharedTurn is the length of a turn if other processes also use the store. It is the maximum age of information about their calls.
const sharedTurn = 2 * time.Second

// A Holder admits calls on leases. It is safe for concurrent use.
type Holder struct {
	store Store
	opts  Options
	bounds
	clock func() instant

	seed    maphash.Seed
	shards  [shards]shard
	entries atomic.Int64 // entries in all shards

	fetching sync.RWMutex // held for reading while a fetch is counted
	closed   bool
	fetches  sync.WaitGroup
}

// New returns a Holder that has no leases yet.
func New(s Store, o Options) *Holder {
	h := &Holder{store: s, opts: o, bounds: defaults, clock: newClock(o), seed: maphash.MakeSeed()}
	if !o.Sole {
		h.turn = sharedTurn
	}
	return h
}

// errDirect means that this call must go through the store.
var errDirect = errors.New("not on a lease")

// Begin has the same results as the store's Begin. While leased units are left, a call that only counts towards leased limits is admitted
// without a request to the store. Refusals come from the store. They are reused until the slot ends, but for at most a turn.
func (h *Holder) Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error) {
	if !h.countsOnly(&r) {
		return h.direct(ctx, r)
	}
	began := h.clock()
	var refusal *store.LimitError
	for i := range r.Candidates {
		var ws reservations
		if r.Candidates[i].Charge.Nano != 0 || !ws.fill(h, &r, i) || i == 0 && ws.n == 0 {
			return h.direct(ctx, r)
		}
		admission, refused, err := h.take(ctx, began, &r, i, &ws)
		switch {
		case errors.Is(err, errDirect):
			return h.direct(ctx, r)
		case err != nil:
			return store.Admission{}, err
		case refused == nil:
			return admission, nil
		}
		refusal = refused
	}
	return store.Admission{}, refusal
}

// countsOnly reports whether the request is valid, and its call needs nothing but units of limits and, under some candidates, a charge.
// Such a call has no nonce and no idempotency key, and its agreement has no plan and no budget and was used before.
func (h *Holder) countsOnly(r *store.BeginRequest) bool {
	if r.Hold <= 0 || r.Planned || r.BudgetNumber != nil || r.Nonce != nil || r.Execution.IdempotencyKey != "" || len(r.Candidates) == 0 ||
		!h.store.Used(r.Execution.Service, r.Execution.AgreementID) {
		return false
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if c.Charge.Nano < 0 || c.Charge.Nano > 0 && (c.Charge.Currency == "" || r.Execution.ID == "") || !valid(c.Limits) {
			return false
		}
	}
	return valid(r.Limits)
}

func valid(list []store.Reservation) bool {
	for i := range list {
		l := &list[i].Limit
		if l.Max < 0 || l.Max > limit.MaxCount || !l.Period.Rolling() && !l.Period.Calendar() && l.Period != limit.Lifetime {
			return false
		}
	}
	return true
}

// direct sends the call through the store. If a limit refuses the call, direct returns to the store the units of that limit that this
// process has leased but not used, and tries again.
func (h *Holder) direct(ctx context.Context, r store.BeginRequest) (store.Admission, error) {
	for range maxReservations {
		admission, err := h.store.Begin(ctx, r)
		if err == nil {
			h.observe(&r, &admission)
			return admission, nil
		}
		full, is := errors.AsType[*store.LimitError](err)
		if !is || !h.recall(ctx, key{r.Execution.Service, full.Principal, full.ID, full.Period}) {
			return admission, err
		}
	}
	return h.store.Begin(ctx, r)
}

// Settle has the same results as the store's Settle. Units of an unsent call go back to their lease if it is still held, and otherwise to
// the store.
func (h *Holder) Settle(ctx context.Context, b store.Admission, to store.Settlement) (store.Execution, error) {
	if to.Outcome != store.NotSent || to.State != store.Released || len(b.Taken) == 0 {
		return h.store.Settle(ctx, b, to)
	}
	if !b.Recorded {
		b.Taken = h.refund(b.Execution.Service, b.Taken)
	}
	e, err := h.store.Settle(ctx, b, to)
	for _, s := range b.Taken { // units became free
		h.clearRefusals(key{b.Execution.Service, s.Principal, s.LimitID, s.Period})
	}
	return e, err
}
