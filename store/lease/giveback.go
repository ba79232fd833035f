package lease

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// refund gives the units of an unsent call back to their leases. If a unit must go back to the store instead, the result contains its slot.
func (h *Holder) refund(service string, took []store.CounterSlot) []store.CounterSlot {
	now := h.clock()
	return slices.DeleteFunc(slices.Clone(took), func(s store.CounterSlot) bool {
		e := h.find(&key{service, s.Principal, s.LimitID, s.Period})
		if e == nil {
			return false
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.max == 0 || e.slot != s.Slot || e.ends.reached(now) || !s.Restored.Equal(e.restored) {
			return false
		}
		e.units++
		e.use = max(0, e.use-1)
		return true
	})
}

// clearRefusals deletes the stored refusals of a limit.
func (h *Holder) clearRefusals(k key) {
	if e := h.find(&k); e != nil {
		e.mu.Lock()
		e.refusals = nil
		e.mu.Unlock()
	}
}

// observe records the state of the limits after a call that went through the store. It also adds the unused units of the leases of this
// process to the numbers of units left in b.Standing.
func (h *Holder) observe(r *store.BeginRequest, b *store.Admission) {
	for i := range b.Standing {
		t := &b.Standing[i]
		e := h.find(&key{r.Execution.Service, principal(r, &t.Limit), t.ID, t.Period})
		if e == nil {
			continue
		}
		e.mu.Lock()
		if e.max > 0 {
			e.left = min(e.left, t.Left+e.max-t.Max)
			t.Left += e.units
		}
		e.mu.Unlock()
	}
}

// principal returns the principal of the counter that a limit of the call uses, or "" if the call does not have the limit.
func principal(r *store.BeginRequest, l *limit.Limit) pat.Principal {
	is := func(of store.Reservation) bool { return of.ID == l.ID && of.Period == l.Period }
	if i := slices.IndexFunc(r.Limits, is); i >= 0 {
		return r.Limits[i].Principal
	}
	for _, c := range r.Candidates {
		if i := slices.IndexFunc(c.Limits, is); i >= 0 {
			return c.Limits[i].Principal
		}
	}
	return ""
}

// giveBack ends the lease of an entry, which must be locked, and adds the unused units to the returns of the fetch. Calls that need a new
// lease wait for the fetch.
func (f *fetch) giveBack(e *entry) {
	back, ok := e.close()
	if !ok {
		return
	}
	f.request.Service = e.key.service
	f.request.Returns = append(f.request.Returns, back)
	f.entries = append(f.entries, e)
	e.fetch = f
}

// recall returns the unused leased units of a limit to the store, and reports whether it returned any.
func (h *Holder) recall(ctx context.Context, k key) bool {
	e := h.find(&k)
	if e == nil || !h.enter() {
		return false
	}
	defer h.fetches.Done()
	f := newFetch()
	e.mu.Lock()
	f.giveBack(e)
	e.mu.Unlock()
	if len(f.entries) == 0 {
		return false
	}
	h.run(ctx, f)
	return f.err == nil
}

// returnsAtOnce limits the number of leases that are returned in one transaction.
const returnsAtOnce = 128

// giveBack returns the unused units of all leases for which over returns true, and deletes the entries of limits that were not used
// recently.
func (h *Holder) giveBack(ctx context.Context, over func(*entry, instant) bool) error {
	now := h.clock()
	filling := map[string]*fetch{} // by service
	var all []*fetch
	h.each(func(e *entry) bool {
		if e.max > 0 && over(e, now) {
			f := filling[e.key.service]
			if f == nil || len(f.entries) == returnsAtOnce {
				f = newFetch()
				filling[e.key.service] = f
				all = append(all, f)
			}
			f.giveBack(e)
		}
		return e.max == 0 && e.fetch == nil && now.elapsed-e.touched > 2*h.turn
	})
	var errs []error
	for _, f := range all {
		if len(f.entries) > 0 {
			h.run(ctx, f)
			errs = append(errs, f.err)
		}
	}
	return errors.Join(errs...)
}

// Tidy returns the unused units of leases that have ended, and deletes entries that were not used recently. If the store cannot be reached,
// the units stay counted as used. After Close, Tidy does nothing.
func (h *Holder) Tidy(ctx context.Context) error {
	if !h.enter() {
		return nil
	}
	defer h.fetches.Done()
	return h.giveBack(ctx, func(e *entry, now instant) bool { return e.ends.reached(now) })
}

// tidyEvery is how often Run returns the unused units of leases that have ended.
const tidyEvery = time.Second

// Run calls Tidy every second until ctx ends, and then returns nil. It passes the errors of Tidy to report. Such errors waste units, but
// never cause a limit to be exceeded.
func (h *Holder) Run(ctx context.Context, report func(error)) error {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := h.Tidy(ctx); err != nil {
				report(err)
			}
		}
	}
}

// Close waits for requests in progress, and returns the unused units of all leases to the store. Later calls go through the store, which
// Close does not close.
func (h *Holder) Close() error {
	h.fetching.Lock()
	h.closed = true
	h.fetching.Unlock()
	h.fetches.Wait()
	return h.giveBack(context.Background(), func(*entry, instant) bool { return true })
}
