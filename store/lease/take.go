package lease

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
)

// rounds limits how often one call requests a lease. After that, the call goes through the store.
const rounds = 8

// take admits a call under all limits of one candidate. If a limit refuses the call, take returns the refusal, and the caller tries the
// next candidate. The error errDirect means that the call must go through the store.
func (h *Holder) take(
	ctx context.Context, began instant, r *store.BeginRequest, candidate int, ws *reservations,
) (store.Admission, *store.LimitError, error) {
	now := began
	for range rounds {
		if !ws.lock(h) {
			return store.Admission{}, nil, errDirect
		}
		f, refusal, ready := ws.look(now)
		if ready {
			admission, ok := h.admit(began, now, r, candidate, ws)
			ws.unlock()
			if !ok {
				return store.Admission{}, nil, errDirect
			}
			return admission, nil, nil
		}
		start := refusal == nil && f == nil
		if start {
			f = h.prepare(ws, now)
		}
		if f != nil {
			ws.join(f)
		}
		ws.unlock()
		switch {
		case refusal != nil:
			return store.Admission{}, refusal, nil
		case f == nil:
			return store.Admission{}, nil, errDirect
		case start:
			go func() {
				defer h.fetches.Done()
				h.run(ctx, f)
			}()
		}
		if err := f.wait(ctx); err != nil {
			return store.Admission{}, nil, err
		}
		now = h.clock()
	}
	return store.Admission{}, nil, errDirect
}

// look returns the state of the limits of a call. ready means that all of them have leased units. If a limit is exhausted, look returns the
// refusal of the limit that stays exhausted longest. If a missing lease is already being fetched, look returns the fetch to wait for.
func (ws *reservations) look(now instant) (f *fetch, refusal *store.LimitError, ready bool) {
	ready = true
	for i := range ws.n {
		w := &ws.list[i]
		switch w.availability(now) {
		case leased:
		case refused:
			for j := range ws.n {
				ws.list[j].entry.touched = now.elapsed
			}
			return nil, ws.refusal(now), false
		default:
			ready = false
			if f == nil {
				f = w.entry.fetch
			}
		}
	}
	return f, nil, ready
}

// join records that the call waits for a fetch.
func (ws *reservations) join(f *fetch) {
	f.waiting.Add(1)
	for i := range ws.n {
		if w := &ws.list[i]; w.entry.fetch == f {
			w.waited = f
		}
	}
}

// admit takes a unit of each limit. It fails only if a clock was set in the meantime.
func (h *Holder) admit(began, now instant, r *store.BeginRequest, candidate int, ws *reservations) (store.Admission, bool) {
	var expires time.Duration
	for i := range ws.n {
		e := ws.list[i].entry
		if d := e.expires.until(began); i == 0 || d < expires {
			expires = d
		}
	}
	if ws.n > 0 && expires <= 0 {
		return store.Admission{}, false
	}
	admission := r.Admit(candidate, time.Unix(0, now.wall).UTC())
	admission.Expires = expires
	if ws.n == 0 {
		return admission, true
	}
	admission.Taken, admission.Standing = lists(ws.n)
	for i := range ws.n {
		w := &ws.list[i]
		w.entry.spend(now)
		admission.Taken[i] = w.entry.counted()
		admission.Standing[i] = limit.Status{Limit: w.limit, Left: w.left(), Resets: remaining(w.entry.resets, now)}
	}
	return admission, true
}

// A pair contains the two lists of a typical call, so that they need only one allocation.
type pair struct {
	taken    [2]store.CounterSlot
	standing [2]limit.Status
}

// lists returns two lists with n elements.
func lists(n int) ([]store.CounterSlot, []limit.Status) {
	if n > len(pair{}.taken) {
		return make([]store.CounterSlot, n), make([]limit.Status, n)
	}
	p := &pair{}
	return p.taken[:n:n], p.standing[:n:n]
}

// left returns how many more calls can be admitted: the remainder in the store at the last request, minus the calls that were admitted here
// since then. The next lease accounts for the units that other processes have taken since then.
func (w *reservation) left() int64 {
	e := w.entry
	return e.units + e.left + w.limit.Max - e.max
}
