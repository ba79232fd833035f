package calls

import (
	"context"
	"fmt"
	"slices"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
)

// A reservation is one or more units of one counter, with its limit.
type reservation struct {
	key     CounterKey
	limit   limit.Limit
	units   int64
	carried bool // the call counts in the limit, which does not refuse it
}

// joinReservations returns the reservations of all lists. Two reservations of the same counter are merged into one, with the smaller Max
// and the larger number of units. An invalid rate is an error.
func joinReservations(service string, lists ...[]store.Reservation) ([]reservation, error) {
	var out []reservation
	for _, list := range lists {
		for _, r := range list {
			if !r.Period.Rolling() && !r.Period.Calendar() && r.Period != limit.Lifetime || r.Max < 0 || r.Max > limit.MaxCount || r.Units < 0 {
				return nil, fmt.Errorf("limit %s: %s is not a valid rate", r.ID, r.Rate)
			}
			k := CounterKey{service, string(r.Principal), r.ID, r.Period}
			if i := slices.IndexFunc(out, func(o reservation) bool { return o.key == k }); i >= 0 {
				out[i].limit.Max, out[i].units = min(out[i].limit.Max, r.Max), max(out[i].units, r.Units)
				out[i].carried = out[i].carried && r.Carried
				continue
			}
			out = append(out, reservation{k, r.Limit, max(1, r.Units), r.Carried})
		}
	}
	return out, nil
}

// fit checks that every limit admits one more call with its units. If not, it returns a *store.LimitError for the limit that stays
// exhausted longest, because the call cannot succeed before then.
func (w *work) fit(rs []reservation) error {
	var refusal *store.LimitError
	for _, r := range rs {
		c := w.limits.counters[r.key]
		if c.err != nil {
			return engine.Unavailable(fmt.Errorf("limit %s: %w", r.limit.ID, c.err))
		}
		if r.carried || c.Left(r.limit.Max) >= r.units {
			continue
		}
		e := &store.LimitError{
			Status: w.standing(r), Principal: pat.Principal(r.key.AgentID), RetryAfter: c.Retry(r.limit.Max-(r.units-1), w.t.Counted()),
			Restored: c.Restored(r.limit.Max),
		}
		if refusal == nil || refusal.RetryAfter != 0 && (e.RetryAfter == 0 || e.RetryAfter > refusal.RetryAfter) {
			refusal = e
		}
	}
	if refusal == nil {
		return nil
	}
	return refusal
}

// take takes the units of each limit, and returns the slots in which they are counted.
func (w *work) take(rs []reservation) []store.CounterSlot {
	out, restored := make([]store.CounterSlot, len(rs)), w.calls.db.Floor()
	for i, r := range rs {
		c := w.limits.counters[r.key]
		c.Take(r.units)
		c.dispatched()
		c.dirty = true
		out[i] = store.CounterSlot{
			Principal: pat.Principal(r.key.AgentID), LimitID: r.key.LimitID, Period: r.key.Period, Slot: c.Slot, Units: r.units,
			Carried: r.carried, Restored: restored,
		}
	}
	return out
}

// give gives back the units of each slot.
func (w *work) give(service string, slots []store.CounterSlot) {
	for _, s := range slots {
		w.giveBack(service, s, max(1, s.Units))
	}
}

// spent returns the slots of the counters that count money.
func spent(slots []store.CounterSlot) (money []store.CounterSlot) {
	for _, s := range slots {
		if limit.KindOf(s.LimitID) == limit.Budget {
			money = append(money, s)
		}
	}
	return money
}

// giveBudget releases what a charge took of the budget of its consent, for a call whose slots are no longer known. It gives back the
// units of the slot in which the call began.
func (w *work) giveBudget(ctx context.Context, e store.Execution) error {
	if e.Charge.IsZero() || !pat.Consented(e.AgentID) {
		return nil
	}
	for _, p := range limit.AllowancePeriods() {
		k := CounterKey{e.Service, string(e.AgentID), limit.BudgetID(e.Charge.Currency), p}
		c := &counter{Window: window.Window{Period: p}}
		found, err := w.t.Row(ctx, selectCounter, []any{k.Service, k.AgentID, k.LimitID, string(k.Period)},
			&c.was.Slot, &c.was.Counts, &c.was.Dispatch, &c.was.DispatchSlot)
		if err != nil {
			return err
		}
		if c.found = found; found {
			w.limits.counters[k] = c
			w.need.counters = append(w.need.counters, k)
		}
	}
	w.openCounters()
	for _, k := range w.need.counters {
		c := w.limits.counters[k]
		if c.err == nil && c.Give(k.Period.Slot(e.BeganAt), limit.AllowanceUnits(e.Charge)) {
			c.dirty = true
		}
	}
	return nil
}

// giveBack releases units of a slot, unless they no longer count or the database was restored since they were taken.
func (w *work) giveBack(service string, s store.CounterSlot, units int64) {
	if !s.Restored.Equal(w.calls.db.Floor()) {
		return
	}
	c := w.limits.counters[CounterKey{service, string(s.Principal), s.LimitID, s.Period}]
	if c.err == nil && c.Give(s.Slot, units) {
		c.dirty = true
	}
}

func (w *work) standing(r reservation) limit.Status {
	c := w.limits.counters[r.key]
	return limit.Status{Limit: r.limit, Left: c.Left(r.limit.Max), Resets: c.Resets(w.t.Counted())}
}

// dispatchKept is how long, in slots, the largest number of dispatch slots in use applies to all calls: one minute.
const dispatchKept = 600

// leave sets the number of dispatch slots that each admission of a transaction has. The window must have reached the slot of the
// transaction.
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

// dispatched records that an admission has the number of dispatch slots that leave has set.
func (c *counter) dispatched() {
	if c.Period == limit.Second && c.own >= c.dispatch {
		c.dispatch, c.dispatchSlot = c.own, c.Slot
	}
}
