package lease

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/store"
)

// refund puts units of a call that was not sent back on the leases they are of, and returns those that have to go
// back to the store.
func (h *Holder) refund(service string, took []store.TakenSlot) []store.TakenSlot {
	now := h.clock()
	return slices.DeleteFunc(slices.Clone(took), func(s store.TakenSlot) bool {
		e := h.find(&key{service, s.AgentID, s.LimitID, s.Period})
		if e == nil {
			return false
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.max == 0 || e.slot != s.Slot || e.ends.reached(now) {
			return false
		}
		e.units++
		e.use = max(0, e.use-1)
		return true
	})
}

// forgive forgets that a limit was used up.
func (h *Holder) forgive(k key) {
	if e := h.find(&k); e != nil {
		e.mu.Lock()
		e.refusals = nil
		e.mu.Unlock()
	}
}

// learn takes note of how limits stand after a call that went through the store, and adds to what is left what lies
// on leases here.
func (h *Holder) learn(b *store.Begun) {
	if len(b.Took) != len(b.Standing) {
		return
	}
	for i := range b.Took {
		s, t := &b.Took[i], &b.Standing[i]
		e := h.find(&key{b.Execution.Service, s.AgentID, s.LimitID, s.Period})
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

// recall gives back all units that lie on leases of a call's limits, and reports whether there were any.
func (h *Holder) recall(ctx context.Context, r *store.BeginRequest) bool {
	request := store.LeaseRequest{Service: r.Execution.Service}
	add := func(list []store.Reservation) {
		for i := range list {
			e := h.find(&key{r.Execution.Service, list[i].AgentID, list[i].ID, list[i].Period})
			if e == nil {
				continue
			}
			e.mu.Lock()
			if e.units > 0 {
				back, _ := e.close()
				request.Returns = append(request.Returns, back)
			}
			e.refusals = nil
			e.mu.Unlock()
		}
	}
	add(r.Limits)
	for i := range r.Candidates {
		add(r.Candidates[i].Limits)
	}
	if len(request.Returns) == 0 {
		return false
	}
	_, err := h.store.Lease(ctx, request)
	return err == nil
}

// returnsAtOnce bounds how many units go back in one transaction.
const returnsAtOnce = 128

// giveBack returns the units of all leases for which over says so, and forgets limits that nobody asks for. What
// fails to reach the store counts as used from now on: it may have arrived.
func (h *Holder) giveBack(ctx context.Context, over func(*entry, instant) bool) error {
	now := h.clock()
	back := map[string][]store.LeaseReturn{}
	h.each(func(e *entry) bool {
		if e.max > 0 && over(e, now) {
			if r, ok := e.close(); ok {
				back[e.key.service] = append(back[e.key.service], r)
			}
		}
		return e.max == 0 && e.fetch == nil && now.elapsed-e.touched > 2*h.opts.Turn
	})
	var errs []error
	for service, all := range back {
		for some := range slices.Chunk(all, returnsAtOnce) {
			_, err := h.store.Lease(ctx, store.LeaseRequest{Service: service, Returns: some})
			errs = append(errs, err)
			for _, r := range some {
				h.forgive(key{service, r.AgentID, r.LimitID, r.Period})
			}
		}
	}
	return errors.Join(errs...)
}

// Tidy gives back what is left of leases that have ended, and forgets limits that nobody has asked for lately.
func (h *Holder) Tidy(ctx context.Context) error {
	return h.giveBack(ctx, func(e *entry, now instant) bool { return e.ends.reached(now) })
}

// tidyEvery is how long what is left of a lease may lie unused, where no call asks for the limit.
const tidyEvery = time.Second

// Run tidies until ctx ends. What fails is reported; it costs units, never a limit.
func (h *Holder) Run(ctx context.Context, report func(error)) error {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := h.Tidy(ctx); err != nil && ctx.Err() == nil {
				report(err)
			}
		}
	}
}

// Close gives all leases back. Calls begun from now on go through the store, which stays open.
func (h *Holder) Close() error {
	h.life.Lock()
	h.closed = true
	h.life.Unlock()
	h.fetches.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), h.opts.Patience)
	defer cancel()
	return h.giveBack(ctx, func(*entry, instant) bool { return true })
}
