package calls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

var (
	errNoLease    = errors.New("only rolling limits can be leased")
	errLeasedOnce = errors.New("each limit may appear only once in a lease")
	errReturn     = errors.New("the number of returned units is out of range")
)

// Lease leases units of limits, and releases the units in r.Returns, in one transaction. If a limit is exhausted, its result has a Refusal,
// and no units of any limit are leased. If a demand is invalid (not a rolling limit, an invalid rate, a repeated counter), Lease returns an
// error, and leases and releases nothing. After store.ErrUnavailable, it is unknown whether the transaction was committed: units that no
// process holds may count as used, and the caller must not send the returns again.
func (c *Calls) Lease(ctx context.Context, r store.LeaseRequest) ([]store.Lease, error) {
	l := leaseOp{service: r.Service, returns: r.Returns, requestedAt: c.db.Local()}
	n, err := l.prepare(r.Demands)
	if err != nil {
		return nil, fmt.Errorf("leasing: %w", err)
	}
	// Returns belong to settled calls, so they are accepted even if new calls are not.
	if len(r.Demands) > 0 && c.queue.Full(n.agentID) {
		return nil, engine.Unavailable(store.ErrQueueFull)
	}
	if err := c.call(ctx, n, l.run); err != nil {
		return nil, err
	}
	return l.result, nil
}

// A leaseOp is a LeaseRequest prepared for a transaction.
type leaseOp struct {
	service      string
	requestedAt  time.Time // by the clock of the process
	returns      []store.LeaseReturn
	reservations []reservation
	demands      []store.LeaseDemand
	result       []store.Lease
}

// prepare checks the request and lists all counters that it may change.
func (l *leaseOp) prepare(demands []store.LeaseDemand) (rowSet, error) {
	l.demands = demands
	n := rowSet{counters: make([]CounterKey, 0, len(demands)+len(l.returns))}
	reservations := make([]store.Reservation, 0, len(demands))
	for _, a := range demands {
		if !a.Period.Rolling() {
			return rowSet{}, fmt.Errorf("limit %s of %s: %w", a.ID, a.Rate, errNoLease)
		}
		reservations = append(reservations, a.Reservation)
	}
	var err error
	if l.reservations, err = joinReservations(l.service, reservations); err != nil {
		return rowSet{}, err
	}
	if len(l.reservations) != len(demands) {
		return rowSet{}, errLeasedOnce
	}
	for _, r := range l.reservations {
		n.counters = append(n.counters, r.key)
	}
	for _, b := range l.returns {
		if b.Units < 1 || b.Units > limit.MaxCount {
			return rowSet{}, fmt.Errorf("limit %s, %d units: %w", b.LimitID, b.Units, errReturn)
		}
		n.counters = append(n.counters, CounterKey{l.service, string(b.Principal), b.LimitID, b.Period})
	}
	if len(n.counters) > 0 {
		n.agentID = n.counters[0].AgentID
	}
	return n, nil
}

// run changes counters only after everything that can fail, so that it never has to undo a change.
func (l *leaseOp) run(_ context.Context, w *work) error {
	if err := w.t.ServerChanged(); err != nil && len(l.reservations) > 0 {
		return err
	}
	for _, r := range l.reservations {
		if c := w.limits.counters[r.key]; c.err != nil {
			return engine.Unavailable(fmt.Errorf("limit %s: %w", r.limit.ID, c.err))
		}
	}
	for _, b := range l.returns {
		w.giveBack(l.service, b.CounterSlot, b.Units)
	}
	l.result = make([]store.Lease, len(l.reservations))
	refused := false
	for i, r := range l.reservations {
		c := w.limits.counters[r.key]
		clock := r.key.Period.Slot(w.t.Counted()) // if the clock was set back, the counted slot is later than this one
		l.result[i] = store.Lease{
			Slot: c.Slot, Restored: w.calls.db.Floor(),
			Ends: w.t.Since(l.requestedAt, r.key.Period.Ends(clock)), Expires: w.t.Since(l.requestedAt, r.key.Period.Ends(clock+c.own)),
		}
		if err := w.fit(l.reservations[i : i+1]); err != nil {
			refused = true
			l.result[i].Refusal, _ = errors.AsType[*store.LimitError](err)
		}
	}
	for i, r := range l.reservations {
		c := w.limits.counters[r.key]
		if !refused {
			l.result[i].Units = limit.Slice(c.Left(r.limit.Max), l.demands[i].Units, l.demands[i].Waiting)
			c.Take(l.result[i].Units)
			c.dispatched()
			c.dirty = true
		}
		l.result[i].Status = w.standing(r)
	}
	return nil
}
