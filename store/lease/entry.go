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
	restoredAt func() time.Time // Store.RestoredAt

	mu   sync.Mutex
	gone bool // no longer in its shard: a caller that sees this looks the entry up again
	lease
	refusals []refusal // each for a different Max
	fetch    *fetch    // in progress; at most one

	// The recent use, which determines how many units are leased.
	turn      time.Duration // beginning of the turn, on the monotonic clock
	use, last int64         // calls admitted in this turn and in the previous one
	unserved  int64         // calls that waited for the last fetch and got no unit
	touched   time.Duration // when it was last used
}

// A lease is a number of units of one slot that the store has counted as used.
type lease struct {
	max     int64 // the maximum that the limit admits; 0 means that no lease is held
	slot    int64
	units   int64
	left    int64   // units that remained in the store when these were leased
	ends    instant // from then on, no call is admitted on the lease
	expires instant // from then on, no call that was admitted on the lease is sent
	resets  instant // when the oldest counted slot ends
	by      *fetch  // the fetch that obtained the lease

	restored time.Time // when the state was last restored, as of the lease
}

// A refusal is the store's response that a limit is exhausted.
type refusal struct {
	store.LimitError
	until         instant   // from then on, the store decides again
	retry, resets instant   // zero if there is no such time
	restored      time.Time // when the state was last restored; after another restore, the store decides again
}

// maxRefusals limits the number of refusals that are kept for one limit, one for each Max.
const maxRefusals = 4

// An availability states whether a call can be admitted in this process.
type availability int

const (
	missing availability = iota // the store must decide
	leased
	refused
)

// availability returns whether a call under this limit can be admitted. A lease made with a smaller Max is also valid for a larger one, but
// not the reverse. A call that waited for the fetch of the lease may use the lease until it expires, because the store leased units for
// that call.
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

// valid reports whether the state has not been restored since the lease was taken.
func (e *entry) valid() bool { return e.restored.Equal(e.restoredAt()) }

// waitedForLease reports whether the lease is the one that the call waited for.
func (w *reservation) waitedForLease() bool { return w.waited != nil && w.waited == w.entry.by }

func (e *entry) refusal(most int64, now instant) *refusal {
	for i := range e.refusals {
		if r := &e.refusals[i]; r.Max == most && !r.until.reached(now) && r.restored.Equal(e.restoredAt()) {
			return r
		}
	}
	return nil
}

// errorAt returns the error of the refusal, with durations that count from now.
func (r *refusal) errorAt(now instant) *store.LimitError {
	e := r.LimitError
	e.RetryAfter = remaining(r.retry, now)
	e.Resets = remaining(r.resets, now)
	return &e
}

// remaining returns the time from now until at, but at least 1 ns. It returns 0 if at is zero.
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

// close ends the lease. It returns the units that are left, and reports whether there are any.
func (e *entry) close() (back store.LeaseReturn, ok bool) {
	back = store.LeaseReturn{CounterSlot: e.counted(), Units: e.units}
	e.lease = lease{}
	return back, back.Units > 0
}

// roll begins a new turn if the current one is over.
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

// demand estimates how many units will be used before the turn ends. It returns twice the use of the previous turn or of this turn,
// whichever is greater.
func (e *entry) demand() int64 { return 2 * max(e.last, e.use) }
