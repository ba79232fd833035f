package lease

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/store"
)

// A fetch is one request to the store, either for leases or for a return of units. Any number of calls may wait for it.
type fetch struct {
	request store.LeaseRequest
	entries []*entry // the entries of the demands, in the same order, or of the returns if there are no demands
	waiting atomic.Int64

	late chan struct{} // closed when the store has taken too long, or the fetch is done
	done chan struct{}
	err  error // set when done is closed
}

// wait waits until the fetch is done, and returns its error. If ctx ends first or the store takes too long, the error wraps
// store.ErrUnavailable.
func (f *fetch) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", store.ErrUnavailable, ctx.Err())
	case <-f.late:
	}
	select {
	case <-f.done:
		return f.err
	default:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, context.DeadlineExceeded)
	}
}

func newFetch() *fetch { return &fetch{late: make(chan struct{}), done: make(chan struct{})} }

// prepare creates a fetch for all missing limits of a call, whose entries are locked. It returns nil if the Holder is closed. The fetch
// also returns the unused units of their previous leases.
func (h *Holder) prepare(ws *reservations, now instant) *fetch {
	if !h.enter() {
		return nil
	}
	f := newFetch()
	for i := range ws.n {
		w := &ws.list[ws.order[i]]
		e := w.entry
		if w.availability(now) != missing {
			continue
		}
		e.roll(now, h.turn)
		f.request.Service = e.key.service
		f.request.Demands = append(f.request.Demands, store.LeaseDemand{
			Reservation: store.Reservation{Principal: e.key.principal, Limit: w.limit}, Units: e.demand(), Waiting: e.unserved,
		})
		if back, ok := e.close(); ok {
			f.request.Returns = append(f.request.Returns, back)
		}
		e.fetch, e.unserved, e.touched = f, 0, now.elapsed
		f.entries = append(f.entries, e)
	}
	return f
}

// enter counts one more fetch, for which the caller must later call h.fetches.Done. It returns false, and counts nothing, if the Holder is
// closed.
func (h *Holder) enter() bool {
	h.fetching.RLock()
	defer h.fetching.RUnlock()
	if h.closed {
		return false
	}
	h.fetches.Add(1)
	return true
}

// run sends the request to the store, and wakes the waiting calls. It does not stop when ctx, the context of the call that started it,
// ends. If the store does not respond, units that it may have leased stay counted as used, and returned units are not returned again,
// because the store may have released them.
func (h *Holder) run(ctx context.Context, f *fetch) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.patience)
	defer cancel()
	context.AfterFunc(ctx, func() { close(f.late) })
	sent := h.clock()
	got, err := h.store.Lease(ctx, f.request)
	f.err = err
	refusalTime := h.refusalTime(got)
	for i, e := range f.entries {
		e.mu.Lock()
		e.fetch = nil
		switch {
		case len(f.request.Demands) == 0: // units became free
			e.refusals = nil
		case err == nil:
			e.receive(f, f.request.Demands[i].Max, sent, got[i], h.turn, refusalTime)
		}
		e.mu.Unlock()
	}
	close(f.done)
}

// refusalTime returns how long the refusals in the results are kept: for at most a turn, and only until the first of their slots or the
// first of the refusals ends. All refusals end together, so that the next call compares all of them again to find the longest one.
func (h *Holder) refusalTime(got []store.Lease) time.Duration {
	d := h.turn
	for i := range got {
		if r := got[i].Refusal; r != nil {
			d = min(d, got[i].Ends, r.RetryAfter)
		}
	}
	return d
}

// receive updates the entry with the result of the store for its limit.
func (e *entry) receive(f *fetch, most int64, sent instant, got store.Lease, turn, refusalTime time.Duration) {
	at := func(d time.Duration) instant {
		if d == 0 {
			return instant{}
		}
		return sent.add(d)
	}
	if r := got.Refusal; r != nil {
		e.refuse(refusal{
			LimitError: *r, until: sent.add(refusalTime), retry: at(r.RetryAfter), resets: at(r.Resets), restored: got.Restored,
		}, sent)
		return
	}
	if got.Units == 0 { // another limit of the call was refused
		return
	}
	e.lease = lease{
		max: most, slot: got.Slot, units: got.Units, left: got.Left, by: f,
		ends: sent.add(min(turn, got.Ends)), expires: sent.add(got.Expires), resets: at(got.Resets),
		restored: got.Restored,
	}
	e.unserved = max(0, f.waiting.Load()-got.Units)
}
