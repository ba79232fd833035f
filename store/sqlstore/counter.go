package sqlstore

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
)

// A counterKey names one counter. The period is part of it, so that a limit whose period was changed under the same id
// starts a window of its own instead of misreading the old one.
type counterKey struct {
	service, agentID, limitID string
	period                    limit.Period
}

// A counter is a window inside a transaction.
type counter struct {
	window.Window
	found bool // the row exists
	dirty bool
	err   error // the stored counts are invalid
	was   counterRow

	// The most dispatch slots that were used lately, and the slot in which they were.
	dispatch, dispatchSlot int64
	own                    int64 // the dispatch slots of this transaction's admissions
}

// A reservation is one unit of one counter, with its limit.
type reservation struct {
	key   counterKey
	limit limit.Limit
}

// joinReservations returns the reservations of all lists: two of one counter are one unit, with the smaller Max.
func joinReservations(service string, lists ...[]store.Reservation) ([]reservation, error) {
	var out []reservation
	for _, list := range lists {
		for _, r := range list {
			if !r.Period.Rolling() && !r.Period.Calendar() && r.Period != limit.Lifetime || r.Max < 0 || r.Max > limit.MaxCount {
				return nil, fmt.Errorf("limit %s: %s is no rate", r.ID, r.Rate)
			}
			k := counterKey{service, string(r.Principal), r.ID, r.Period}
			if i := slices.IndexFunc(out, func(w reservation) bool { return w.key == k }); i >= 0 {
				out[i].limit.Max = min(out[i].limit.Max, r.Max)
				continue
			}
			out = append(out, reservation{k, r.Limit})
		}
	}
	return out, nil
}

// fit checks that every limit admits one more call. If not, the refusal is that of the limit that stays used up
// longest, because the call cannot succeed before.
func (t *tx) fit(ws []reservation) error {
	var refusal *store.LimitError
	for _, w := range ws {
		c := t.counters[w.key]
		if c.err != nil {
			return unavailable(fmt.Errorf("limit %s: %w", w.limit.ID, c.err))
		}
		if c.Sum() < w.limit.Max {
			continue
		}
		e := &store.LimitError{Standing: t.standing(w), Principal: pat.Principal(w.key.agentID), RetryAfter: c.Retry(w.limit.Max, t.counted)}
		if refusal == nil || refusal.RetryAfter != 0 && (e.RetryAfter == 0 || e.RetryAfter > refusal.RetryAfter) {
			refusal = e
		}
	}
	if refusal == nil {
		return nil
	}
	return refusal
}

// take takes one unit of each limit, and returns the slots.
func (t *tx) take(ws []reservation) []store.CounterSlot {
	out := make([]store.CounterSlot, len(ws))
	for i, w := range ws {
		c := t.counters[w.key]
		c.Take(1)
		c.dispatched()
		c.dirty = true
		out[i] = store.CounterSlot{Principal: pat.Principal(w.key.agentID), LimitID: w.key.limitID, Period: w.key.period, Slot: c.Slot}
	}
	return out
}

// give gives units back, where they still count.
func (t *tx) give(service string, slots []store.CounterSlot) {
	for _, s := range slots {
		c := t.counters[counterKey{service, string(s.Principal), s.LimitID, s.Period}]
		if c.err == nil && c.Give(s.Slot, 1) {
			c.dirty = true
		}
	}
}

func (t *tx) standing(w reservation) limit.Standing {
	c := t.counters[w.key]
	return limit.Standing{Limit: w.limit, Left: c.Left(w.limit.Max), Resets: c.Resets(t.counted)}
}

// A pace is how long this process lately took to make a transaction durable. The zero value is that of a process that
// has made none.
type pace struct {
	mu          sync.Mutex
	last        time.Duration // the newest
	now, before time.Duration // the longest of this turn and of the one before
	turn        time.Time     // the beginning of this turn
}

// paceTurn is how long a slow commit is remembered: once or twice this time.
const paceTurn = 10 * time.Second

// took records a transaction by the clock of the process. One that was slow alone does not count: the next limit per
// second would pay for a minute for what may not happen again.
func (p *pace) took(began, ended time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roll(ended)
	d := max(0, ended.Sub(began))
	p.now, p.last = max(p.now, min(d, p.last)), d
}

func (p *pace) roll(at time.Time) {
	switch passed := at.Sub(p.turn); {
	case passed < 0: // the clock was set back
		p.turn = at
	case passed >= 2*paceTurn:
		p.now, p.before, p.turn = 0, 0, at
	case passed >= paceTurn:
		p.now, p.before, p.turn = 0, p.now, at
	}
}

// slots returns how many dispatch slots a call needs under a limit per second: those of a commit that takes twice as
// long as the slow ones of late.
func (p *pace) slots(at time.Time) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roll(at)
	length := limit.Second.SlotLength()
	needed := (2*max(p.now, p.before) + length - 1) / length
	return min(max(1, int64(needed)), limit.MaxDispatch)
}

// dispatchKept is for how many slots the most dispatch slots that were used count for all calls: a minute.
const dispatchKept = 600

// leave sets how many slots the admissions of a transaction leave for dispatch, in a window that is at its slot.
func (c *counter) leave(slots int64) {
	if c.Period != limit.Second {
		c.own = 1
		return
	}
	if c.dispatch < 1 || c.Slot-c.dispatchSlot >= dispatchKept {
		c.dispatch = 1
	}
	c.own = slots
	c.More += max(c.dispatch, slots) - 1
}

// dispatched records that an admission left its dispatch slots.
func (c *counter) dispatched() {
	if c.Period == limit.Second && c.own >= c.dispatch {
		c.dispatch, c.dispatchSlot = c.own, c.Slot
	}
}
