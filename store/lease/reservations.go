package lease

import (
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
)

// maxReservations limits how many limits of one call are leased.
const maxReservations = 8

// A reservation is one unit of one limit that a call needs.
type reservation struct {
	key   key
	limit limit.Limit
	entry *entry
	// waited is the fetch of the limit for which the call waits or has waited.
	waited *fetch
}

// reservations are all limits of a call under one of its candidates, in the order of the result.
type reservations struct {
	n     int
	list  [maxReservations]reservation
	order [maxReservations]uint8 // by key: the order in which entries are locked
}

// fill lists the limits of a request and of one of its candidates, and reports whether all of them can be leased. Two limits of one counter
// become one with the smaller Max.
func (ws *reservations) fill(h *Holder, r *store.BeginRequest, candidate int) bool {
	service := r.Execution.Service
	return ws.add(h, service, r.Limits) && ws.add(h, service, r.Candidates[candidate].Limits)
}

func (ws *reservations) add(h *Holder, service string, list []store.Reservation) bool {
next:
	for i := range list {
		r := &list[i]
		if !h.leases(r) || r.Carried {
			return false
		}
		w := reservation{key: key{service, r.Principal, r.ID, r.Period}, limit: r.Limit}
		at := ws.n
		for at > 0 {
			o := &ws.list[ws.order[at-1]]
			order := w.key.compare(&o.key)
			if order == 0 {
				o.limit.Max = min(o.limit.Max, r.Max)
				continue next
			}
			if order > 0 {
				break
			}
			at--
		}
		if ws.n == maxReservations {
			return false
		}
		copy(ws.order[at+1:ws.n+1], ws.order[at:ws.n])
		ws.order[at] = uint8(ws.n)
		ws.list[ws.n] = w
		ws.n++
	}
	return true
}

// lock locks the entries of all reservations in the order of their keys. It returns false, and leaves nothing locked, if there are too many
// entries.
func (ws *reservations) lock(h *Holder) bool {
	for i := range ws.n {
		w := &ws.list[ws.order[i]]
		for {
			if w.entry == nil {
				w.entry = h.entry(&w.key)
			}
			if w.entry == nil {
				ws.release(i)
				return false
			}
			w.entry.mu.Lock()
			if !w.entry.gone {
				break
			}
			w.entry.mu.Unlock()
			w.entry = nil
		}
	}
	return true
}

func (ws *reservations) unlock() { ws.release(ws.n) }

// release unlocks the first n entries in the order of their keys.
func (ws *reservations) release(n int) {
	for i := range n {
		ws.list[ws.order[i]].entry.mu.Unlock()
	}
}

// refusal returns the refusal of the limit that stays exhausted longest, or nil if no refusal is known.
func (ws *reservations) refusal(now instant) *store.LimitError {
	var longest *refusal
	for i := range ws.n {
		w := &ws.list[i]
		if r := w.entry.refusal(w.limit.Max, now); r != nil && (longest == nil || r.retry.until(longest.retry) > 0) {
			longest = r
		}
	}
	if longest == nil {
		return nil
	}
	return longest.errorAt(now)
}
