package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// Used reports whether this process has seen that a call under the agreement is on record; it is true for the empty id.
// The first call has to go through Begin, which records it, so that the agreement is kept.
func (s *Store) Used(service string, id pat.AgreementID) bool {
	return s.used.has(agreementKey{service, string(id)})
}

var (
	errNoLease    = errors.New("only rolling limits are leased")
	errLeasedOnce = errors.New("a lease may want a limit only once")
	errReturn     = errors.New("a return needs units")
)

// Lease takes units of limits in advance and gives others back, in one transaction. Where a limit is used up its answer
// has a Refusal, and no units are taken of any. A demand that cannot be leased (not a rolling limit, an invalid rate,
// one counter twice) is another error, with nothing taken or given back. After store.ErrUnavailable it is unknown
// whether the transaction was committed: units may be counted as used that no process holds, and the returns must not
// be sent again.
func (s *Store) Lease(ctx context.Context, r store.LeaseRequest) ([]store.Lease, error) {
	l := leasing{service: r.Service, returns: r.Returns, asked: s.opts.Now()}
	n, err := l.prepare(r.Demands)
	if err != nil {
		return nil, fmt.Errorf("leasing: %w", err)
	}
	// Returns are part of the end of calls, and are accepted like it.
	if len(r.Demands) > 0 && s.full(n.agentID) {
		return nil, unavailable(store.ErrQueueFull)
	}
	if err := s.call(ctx, n, l.run); err != nil {
		return nil, err
	}
	return l.result, nil
}

// A leasing is a LeaseRequest prepared for a transaction.
type leasing struct {
	service      string
	asked        time.Time // on the clock of the process
	returns      []store.LeaseReturn
	reservations []reservation
	demands      []store.LeaseDemand
	result       []store.Lease
}

// prepare checks the request and lists all counters that it may change.
func (l *leasing) prepare(demands []store.LeaseDemand) (*rowSet, error) {
	l.demands = demands
	n := &rowSet{counters: make([]counterKey, 0, len(demands)+len(l.returns))}
	reservations := make([]store.Reservation, 0, len(demands))
	for _, a := range demands {
		if !a.Period.Rolling() {
			return nil, fmt.Errorf("limit %s of %s: %w", a.ID, a.Rate, errNoLease)
		}
		reservations = append(reservations, a.Reservation)
	}
	var err error
	if l.reservations, err = joinReservations(l.service, reservations); err != nil {
		return nil, err
	}
	if len(l.reservations) != len(demands) {
		return nil, errLeasedOnce
	}
	for _, w := range l.reservations {
		n.counters = append(n.counters, w.key)
	}
	for _, b := range l.returns {
		if b.Units < 1 || b.Units > limit.MaxCount {
			return nil, fmt.Errorf("limit %s, %d units: %w", b.LimitID, b.Units, errReturn)
		}
		n.counters = append(n.counters, counterKey{l.service, string(b.Principal), b.LimitID, b.Period})
	}
	if len(n.counters) > 0 {
		n.agentID = n.counters[0].agentID
	}
	return n, nil
}

// run changes counters only where nothing can fail any more, so that nothing has to be undone.
func (l *leasing) run(_ context.Context, t *tx) error {
	if t.waits && len(l.reservations) > 0 {
		return unavailable(errMoved)
	}
	for _, w := range l.reservations {
		if c := t.counters[w.key]; c.err != nil {
			return unavailable(fmt.Errorf("limit %s: %w", w.limit.ID, c.err))
		}
	}
	for _, b := range l.returns {
		c := t.counters[counterKey{l.service, string(b.Principal), b.LimitID, b.Period}]
		if c.err == nil && c.Give(b.Slot, b.Units) {
			c.dirty = true
		}
	}
	l.result = make([]store.Lease, len(l.reservations))
	refused := false
	for i, w := range l.reservations {
		c := t.counters[w.key]
		clock := w.key.period.Slot(t.counted) // where the clock was set back the counted slot is later, and this the earlier of the two
		l.result[i] = store.Lease{
			Slot: c.Slot, Ends: t.since(l.asked, w.key.period.Ends(clock)), Expires: t.since(l.asked, w.key.period.Ends(clock+c.own)),
		}
		if err := t.fit(l.reservations[i : i+1]); err != nil {
			refused = true
			l.result[i].Refusal, _ = errors.AsType[*store.LimitError](err)
		}
	}
	for i, w := range l.reservations {
		c := t.counters[w.key]
		if !refused {
			l.result[i].Units = limit.Slice(c.Left(w.limit.Max), l.demands[i].Units, l.demands[i].Waiting)
			c.Take(l.result[i].Units)
			c.dispatched()
			c.dirty = true
		}
		l.result[i].Standing = t.standing(w)
	}
	return nil
}

type agreementKey struct{ service, id string }

func (k agreementKey) compare(o agreementKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.id, o.id))
}

// recent keeps the agreements seen lately, at least most of them and at most twice as many.
type recent struct {
	most     int
	mu       sync.RWMutex
	now, old map[agreementKey]struct{}
}

func newRecent(most int) *recent { return &recent{most: most, now: map[agreementKey]struct{}{}} }

// has is true for the empty id, which is never stored.
func (r *recent) has(k agreementKey) bool {
	if k.id == "" {
		return true
	}
	r.mu.RLock()
	_, young := r.now[k]
	_, old := r.old[k]
	r.mu.RUnlock()
	if old && !young {
		r.add(k)
	}
	return young || old
}

func (r *recent) add(k agreementKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.now) >= r.most {
		r.now, r.old = map[agreementKey]struct{}{}, r.now
	}
	r.now[k] = struct{}{}
}
