// Package lease takes units of limits from the store in advance, so that a call that only counts is admitted
// from memory: nothing is written for it.
//
//	leases := lease.New(engine, lease.Options{Now: time.Now})
//	go leases.Run(ctx, report)
//	admission, err := leases.Begin(ctx, request) // as the engine's own Begin
//	defer leases.Close()
//
// A lease is some units of one limit in one slot, which the store has counted as used before the holder knows of
// them. So whatever becomes of a holder, no window ever holds more than the limit; what a crash leaves behind
// counts as used. The store's clock names the slot. The holder counts the time to its end from when it asked,
// by the monotonic and by the wall clock, and goes by the one that ends sooner: a process that was stopped, or a
// machine that was suspended, finds its leases dead. What is left of a lease is given back once, after
// the holder has stopped admitting calls on it.
//
// Only rolling limits of a certain size are leased, and only for calls that leave no record. All others go
// through the store's own Begin as a whole, where leased units count as used.
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

// A Store is what units are leased from, and what takes the calls that are not admitted on leases.
type Store interface {
	Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error)
	Settle(ctx context.Context, a store.Admission, to store.Settlement) (store.Execution, error)
	// Lease is one transaction. ErrUnavailable leaves open whether it took place.
	Lease(ctx context.Context, r store.LeaseRequest) ([]store.Lease, error)
	// Used reports whether a call under the agreement is on record, as far as this process can tell without asking the database.
	Used(service string, id pat.AgreementID) bool
}

// Options of New. The zero value of each but Now is a sound default.
type Options struct {
	// Now is the clock of this process. Required.
	Now func() time.Time
	// Elapsed is a clock that only goes forward. Default: what has passed between two times of Now, by their
	// monotonic readings.
	Elapsed func() time.Duration
	// Sole: no other process takes units from the store, so what the store had left is left still.
	Sole bool
}

// bounds are what a Holder keeps to.
type bounds struct {
	from     int64         // the least Max of a limit that is leased
	turn     time.Duration // how long units are held and a refusal is remembered at most, where slots are longer
	keys     int           // limits known at once; calls under further ones go through the store
	patience time.Duration // the longest wait for the store
}

var usual = bounds{from: limit.LeaseFrom, turn: 10 * time.Second, keys: 32 << 10, patience: 5 * time.Second}

// A Holder admits calls on leases. It is safe for concurrent use.
type Holder struct {
	store Store
	opts  Options
	bounds
	clock func() instant

	seed   maphash.Seed
	shards [shards]shard
	known  atomic.Int64 // entries in all shards

	life    sync.RWMutex // held for reading while a fetch is counted
	closed  bool
	fetches sync.WaitGroup
}

// New makes a Holder that has no leases yet.
func New(s Store, o Options) *Holder {
	return &Holder{store: s, opts: o, bounds: usual, clock: newClock(o), seed: maphash.MakeSeed()}
}

// errDirect: this call has to go through the store.
var errDirect = errors.New("not on a lease")

// Begin is the Begin of the store, with the same answers. A call that only counts, under
// limits that are leased, is admitted without the store while units are there; a refusal is the store's word,
// remembered to the end of its slot or for a turn.
func (h *Holder) Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error) {
	if !h.countsOnly(&r) {
		return h.direct(ctx, r)
	}
	began := h.clock()
	var refusal *store.LimitError
	for i := range r.Candidates {
		var ws wants
		if r.Candidates[i].Charge.Nano != 0 || !ws.fill(h, &r, i) || i == 0 && ws.n == 0 {
			return h.direct(ctx, r)
		}
		begun, refused, err := h.take(ctx, began, &r, i, &ws)
		switch {
		case errors.Is(err, errDirect):
			return h.direct(ctx, r)
		case err != nil:
			return store.Admission{}, err
		case refused == nil:
			return begun, nil
		}
		refusal = refused
	}
	return store.Admission{}, refusal
}

// countsOnly reports whether the call may leave no record, and asks for nothing that the store would refuse to
// understand.
func (h *Holder) countsOnly(r *store.BeginRequest) bool {
	if r.Hold <= 0 || r.Nonce != nil || r.Execution.IdempotencyKey != "" || len(r.Candidates) == 0 || !h.store.Used(r.Execution.Service, r.Execution.AgreementID) {
		return false
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if c.Charge.Nano < 0 || c.Charge.Nano > 0 && (c.Charge.Currency == "" || r.Execution.ID == "") || !sound(c.Limits) {
			return false
		}
	}
	return sound(r.Limits)
}

func sound(list []store.Reservation) bool {
	for i := range list {
		l := &list[i].Limit
		if l.Max < 0 || l.Max > limit.MaxCount || !l.Period.Rolling() && !l.Period.Calendar() && l.Period != limit.Lifetime {
			return false
		}
	}
	return true
}

// direct goes through the store. Before a limit refuses a call, units of it that lie unused on a lease of this process
// are given back.
func (h *Holder) direct(ctx context.Context, r store.BeginRequest) (store.Admission, error) {
	for range maxWants {
		begun, err := h.store.Begin(ctx, r)
		if err == nil {
			h.learn(&begun)
			return begun, nil
		}
		full, is := errors.AsType[*store.LimitError](err)
		if !is || !h.recall(ctx, key{r.Execution.Service, full.Principal, full.ID, full.Period}) {
			return begun, err
		}
	}
	return h.store.Begin(ctx, r)
}

// Settle is the Settle of the store. Units of a call that was not sent go back to the lease they are of, if that
// is still held, else to the store.
func (h *Holder) Settle(ctx context.Context, b store.Admission, to store.Settlement) (store.Execution, error) {
	if to.Outcome != store.NotSent || to.State != store.Released || len(b.Taken) == 0 {
		return h.store.Settle(ctx, b, to)
	}
	if !b.Recorded {
		b.Taken = h.refund(b.Execution.Service, b.Taken)
	}
	e, err := h.store.Settle(ctx, b, to)
	for _, s := range b.Taken { // places came free
		h.forgive(key{b.Execution.Service, s.Principal, s.LimitID, s.Period})
	}
	return e, err
}
