package lease

import (
	"slices"
	"sync"
	"time"

	"github.com/uimgate/uimgate/store"
)

// An entry is what is known here of one counter.
type entry struct {
	key key

	mu   sync.Mutex
	gone bool // no longer in its shard: whoever finds it so looks again
	lease
	refusals []refusal // of different Max
	fetch    *fetch    // under way; at most one

	// How much is used, to know how much is worth leasing.
	turn      time.Duration // began then, by the clock that only goes forward
	use, last int64         // calls admitted in this turn and in the one before
	unmet     int64         // calls that waited for the fetch before and found nothing left
	touched   time.Duration // when it was last asked for
}

// A lease is units of one slot, counted as used by the store.
type lease struct {
	max     int64 // of the limit; 0: no lease is held
	slot    int64
	units   int64
	left    int64   // in the store beside them, when they were taken
	ends    instant // no call is admitted on it any more
	expires instant // no call that was admitted on it is sent any more
	resets  instant // the oldest counted slot falls out
	by      *fetch
}

// A refusal is the store's word that a limit is used up.
type refusal struct {
	store.LimitError
	until         instant // it is asked again
	retry, resets instant // where not zero
}

// maxRefusals bounds for how many Max of one limit refusals are remembered.
const maxRefusals = 4

// A standing of a limit, here.
type footing int

const (
	missing footing = iota // the store has to be asked
	leased
	refused
)

// footing tells whether a call under a limit of so much may be admitted. A lease taken under a smaller Max is good
// for a larger one, not the other way round. Who waited for the very fetch that brought the lease was admitted by
// the store, and may use it until the call could no longer be sent.
//
// The last unit is left to those: where others take units too, what the store has left is not known here, and a call
// that finds nothing beside its own unit would be told that none is left. It asks again, as the next call would have.
func (w *want) footing(now instant, sole bool) footing {
	e := w.entry
	usable := e.max > 0 && e.max <= w.limit.Max && e.units > 0
	switch {
	case usable && w.asked() && !e.expires.reached(now),
		usable && !e.ends.reached(now) && (sole || e.units > 1 || e.left == 0):
		return leased
	case e.refusal(w.limit.Max, now) != nil:
		return refused
	default:
		return missing
	}
}

// asked reports whether the lease is what the call waited for.
func (w *want) asked() bool { return w.waited != nil && w.waited == w.entry.by }

func (e *entry) refusal(most int64, now instant) *refusal {
	for i := range e.refusals {
		if r := &e.refusals[i]; r.Max == most && !r.until.reached(now) {
			return r
		}
	}
	return nil
}

// told is the refusal as it is at now.
func (r *refusal) told(now instant) *store.LimitError {
	e := r.LimitError
	e.RetryAfter = left(r.retry, now)
	e.Resets = left(r.resets, now)
	return &e
}

// left is how long until a moment, at least a little; 0 if there is no such moment.
func left(at, now instant) time.Duration {
	if at == (instant{}) {
		return 0
	}
	return max(1, at.until(now))
}

// refuse remembers a refusal.
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

// close ends the lease, and returns what is to be given back of it.
func (e *entry) close() (back store.LeaseReturn, ok bool) {
	back = store.LeaseReturn{CounterSlot: e.key.slot(e.slot), Units: e.units}
	e.lease = lease{}
	return back, back.Units > 0
}

// roll begins a turn where the one before is over.
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

// wanted is how many units are of use before the turn ends: twice as many as in the turn before, or in this one.
func (e *entry) wanted() int64 { return 2 * max(e.last, e.use) }
