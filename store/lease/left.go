package lease

import (
	"context"
	"errors"

	"github.com/uimgate/uimgate/store"
)

// Left returns the states of limits, one for each reservation, and takes nothing. It reads the store once, and adds the units that this
// process has leased and not used. If there is only one process, the numbers are therefore exact. While a restored state holds limits back,
// the numbers are too low for limits that count in one counter with different maxima. The error wraps store.ErrUnavailable, or is about an
// invalid limit.
func (h *Holder) Left(ctx context.Context, service string, list []store.Reservation) ([]store.Remainder, error) {
	if len(list) == 0 {
		return nil, nil
	}
	before := make([]*fetch, len(list))
	var counters []store.Reservation
	at := map[key]int{} // the place of a counter in counters
	for i := range list {
		k := key{service, list[i].Principal, list[i].ID, list[i].Period}
		before[i], _ = h.held(&k)
		if place, ok := at[k]; ok {
			counters[place].Max = max(counters[place].Max, list[i].Max)
			continue
		}
		at[k] = len(counters)
		counters = append(counters, list[i])
	}
	states, err := h.store.Fits(ctx, service, counters)
	if _, full := errors.AsType[*store.LimitError](err); err != nil && !full {
		return nil, err
	}
	out := make([]store.Remainder, len(list))
	for i := range list {
		k := key{service, list[i].Principal, list[i].ID, list[i].Period}
		state := states[at[k]]
		out[i] = store.Remainder{Status: state, AtLeast: !h.opts.Sole && h.leases(&list[i])}
		// Units of a lease that was made or returned in the meantime may be in both numbers.
		if by, units := h.held(&k); by == before[i] {
			out[i].Left += units
		} else {
			out[i].AtLeast = true
		}
		out[i].Left = max(0, out[i].Left+list[i].Max-state.Max)
		out[i].Limit = list[i].Limit
	}
	return out, nil
}

// held returns the fetch that obtained the lease of a counter, and the units that are not used; nil and 0 if this process has no lease.
func (h *Holder) held(k *key) (by *fetch, units int64) {
	e := h.find(k)
	if e == nil {
		return nil, 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.max == 0 || !e.valid() {
		return nil, 0
	}
	return e.by, e.units
}

// leases reports whether processes take units of a limit in advance.
func (h *Holder) leases(r *store.Reservation) bool { return r.Period.Rolling() && r.Max >= h.from }
