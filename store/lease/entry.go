package lease

import (
	"slices"
	"sync"
	"time"

	"github.com/uimgate/uimgate/store"
)

// An entry is the local state of one counter.
type entry struct {
	key        key
	restoredAt func() time.Time // of the store

	mu   sync.Mutex
	gone bool // no longer in its shard: a caller that finds it so looks it up again
	lease
	refusals []refusal // of different Max
	fetch    *fetch    // in progress; at most one

	// How much is used, to determine how much to lease.
	turn      time.Duration // its beginning, on the clock that only moves forward
	use, last int64         // calls admitted in this turn and in the previous one
	unserved  int64         // calls that waited for the last fetch and got no unit
	touched   time.Duration // when it was last used
}

// A lease is units of one slot, counted as used by the store.
type lease struct {
	max     int64 // of the limit; 0: no lease is held
	slot    int64
	units   int64
	left    int64   // remaining in the store when they were leased
	ends    instant // no call is admitted on it any more
	expires instant // no call that was admitted on it is sent any more
	resets  instant // the oldest counted slot ends
	by      *fetch

	restored time.Time // when the state was last set back
}

// A refusal is the store's response that a limit is exhausted.
type refusal struct {
	store.LimitError
	until         instant // from then on the store decides again
	retry, resets instant // where not zero
}

// maxRefusals bounds the refusals that are kept of one limit, one for each Max.
const maxRefusals = 4

// An availability is whether a call can be admitted here.
type availability int

const (
	missing availability = iota // the store must decide
	leased
	refused
)

// availability returns whether a call under this limit may be admitted. A lease made under a smaller Max is valid for a larger one, not
// the reverse. A call that waited for the fetch of the lease was admitted by the store, and may use it until the call could no longer be
// sent.
func (w *reservation) availability(now instant) availability {
	e := w.entry
	usable := e.max > 0 && e.max <= w.limit.Max && e.units > 0 && e.valid()
	switch {
	case usable && w.waitedForLease() && !e.expires.reached(now), usable && !e.ends.reached(now):
		return leased
	case e.refusal(w.limit.Max, now) != nil:
		return refused
	default:
		return missing
	}
}

// valid reports whether the state was not set back since the lease was taken.
func (e *entry) valid() bool { return e.restored.Equal(e.restoredAt()) }

// waitedForLease reports whether the lease is the one that the call waited for.
func (w *reservation) waitedForLease() bool { return w.waited != nil && w.waited == w.entry.by }

func (e *entry) refusal(most int64, now instant) *refusal {
	for i := range e.refusals {
		if r := &e.refusals[i]; r.Max == most && !r.until.reached(now) {
			return r
		}
	}
	return nil
}

// errorAt returns the refusal with the durations at now.
func (r *refusal) errorAt(now instant) *store.LimitError {
	e := r.LimitError
	e.RetryAfter = remaining(r.retry, now)
	e.Resets = remaining(r.resets, now)
	return &e
}

// remaining returns the time until a moment, at least 1 ns; 0 if there is no such moment.
func remaining(at, now instant) time.Duration {
	if at == (instant{}) {
		return 0
	}
	return max(1, at.until(now))
}

// refuse records a refusal.
func (e *entry) refuse(r refusal, now instant) {
	e.refusals = slices.DeleteFunc(e.refusals, func(old refusal) bool { return old.Max == r.Max || old.until.reached(now) })
	if len(e.refusals) == maxRefusals {
		e.refusals = slices.Delete(e.refusals, 0, 1)
	}
	e.refusals = append(e.refusals, r)
}

// spend takes one unit of a lease.
func (e *entry) spend(now instant) {
	e.units--
	e.use++
	e.touched = now.elapsed
}

// close ends the lease, and returns the units to release.
func (e *entry) close() (back store.LeaseReturn, ok bool) {
	back = store.LeaseReturn{CounterSlot: e.counted(), Units: e.units}
	e.lease = lease{}
	return back, back.Units > 0
}

// roll begins a turn if the previous one is over.
func (e *entry) roll(now instant, longest time.Duration) {
	length := min(e.key.period.SlotLength(), longest)
	switch passed := now.elapsed - e.turn; {
	case passed < length:
		return
	case passed < 2*length:
		e.last = e.use
	default:
		e.last = 0
	}
	e.turn, e.use = now.elapsed, 0
}

// demand returns how many units may be used before the turn ends: twice as many as in the previous turn, or in this one.
func (e *entry) demand() int64 { return 2 * max(e.last, e.use) }
