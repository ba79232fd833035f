package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
)

func testLeases(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"a lease is a slice of what is left":           leaseSlices,
		"leased units count as used":                   leaseCounts,
		"all limits of a lease or none":                leaseAllOrNone,
		"a lease ends with its slot":                   leaseEnds,
		"returned units can be leased again, once":     leaseReturns,
		"units that no longer count are not returned":  leaseLateReturns,
		"a clock set back does not move a lease":       leaseClockSetBack,
		"invalid leases and returns change nothing":    leaseInvalid,
		"leases survive a crash as used":               leaseSurvives,
		"the first call under an agreement is written": leaseUsed,
		"concurrent leases and calls on a limit":       leaseConcurrently,
	})
	testHolders(t, open)
}

func demand(r store.Reservation, units, waiting int64) store.LeaseDemand {
	return store.LeaseDemand{Reservation: r, Units: units, Waiting: waiting}
}

func (b *suite) lease(wants ...store.LeaseDemand) []store.Lease {
	b.Helper()
	got, err := b.Lease(b.Context(), store.LeaseRequest{Service: service, Demands: wants})
	b.must(err)
	if len(got) != len(wants) {
		b.Fatalf("%d leases for %d demands", len(got), len(wants))
	}
	return got
}

func (b *suite) giveBack(r store.Reservation, slot, units int64) {
	b.Helper()
	back := store.LeaseReturn{
		CounterSlot: store.CounterSlot{Principal: r.Principal, LimitID: r.ID, Period: r.Period, Slot: slot},
		Units:       units,
	}
	_, err := b.Lease(b.Context(), store.LeaseRequest{Service: service, Returns: []store.LeaseReturn{back}})
	b.must(err)
}

// recorded returns a call with a record. Such a call never uses a lease.
func (b *suite) recorded(limits ...store.Reservation) store.BeginRequest {
	return b.keyed(b.id(), limits...)
}

// left returns the units that are left for such a call, including its own.
func (b *suite) left(r store.Reservation) int64 {
	b.Helper()
	return b.begin(b.recorded(r)).Standing[0].Left + 1
}

func leaseSlices(b *suite) {
	l := rate("l", 800, limit.Hour)
	for i, c := range []struct{ units, waiting, want int64 }{{0, 0, 1}, {40, 1, 40}, {1 << 40, 1, 95}, {0, 100, 100}, {1, 1 << 40, 564}} {
		got := b.lease(demand(l, c.units, c.waiting))[0]
		if got.Units != c.want || got.Refusal != nil || got.Limit != l.Limit {
			b.Fatalf("lease %d: %+v; want %d units", i, got, c.want)
		}
	}
	got := b.lease(demand(l, 1, 1))[0]
	e := b.refused(b.recorded(l))
	if got.Refusal == nil || got.Units != 0 || *got.Refusal != e || got.Status != e.Status {
		b.Fatalf("%+v; Begin refuses with %+v", got, e)
	}
}

func leaseCounts(b *suite) {
	for _, p := range periods[:5] {
		l := rate("l", 100, p)
		b.begin(b.recorded(l))
		got := b.lease(demand(l, 12, 1))[0]
		want := limit.Status{Limit: l.Limit, Left: 87, Resets: p.Frees(p.Slot(start)).Sub(start)}
		if got.Units != 12 || got.Status != want || got.Slot != p.Slot(start) {
			b.Fatalf("%s: %+v; want %+v", p, got, want)
		}
		if n := b.left(l); n != 87 {
			b.Fatalf("%s: %d left; want 87", p, n)
		}
	}
}

func leaseAllOrNone(b *suite) {
	open, shut := rate("open", 100, limit.Hour), rate("shut", 100, limit.Minute)
	all := b.lease(demand(shut, 100, 100), demand(open, 8, 1))
	got, err := b.Lease(b.Context(), store.LeaseRequest{
		Service: service, Demands: []store.LeaseDemand{demand(open, 8, 1), demand(shut, 1, 1)},
		Returns: []store.LeaseReturn{{
			CounterSlot: store.CounterSlot{Principal: agent, LimitID: "open", Period: limit.Hour, Slot: all[1].Slot},
			Units:       3,
		}},
	})
	b.must(err)
	if got[0].Units != 0 || got[0].Refusal != nil || got[0].Left != 95 || got[1].Refusal == nil || got[1].Units != 0 {
		b.Fatalf("got %+v", got)
	}
	if n := b.left(open); n != 95 { // the return still counts
		b.Fatalf("%d left, want 95", n)
	}
}

func leaseEnds(b *suite) {
	for _, p := range periods[:5] {
		got := b.lease(demand(rate("l", 100, p), 1, 1))[0]
		ends, expires := p.Ends(got.Slot).Sub(start), p.Expires(got.Slot).Sub(start)
		if got.Ends != ends || got.Expires != expires || ends <= 0 || expires-ends != p.SlotLength() {
			b.Errorf("%s: %+v; want %v and %v", p, got, ends, expires)
		}
	}
}

func leaseReturns(b *suite) {
	for _, p := range periods[:5] {
		l := rate("l", 100, p)
		slot := b.lease(demand(l, 1, 100))[0].Slot
		b.refused(b.recorded(l))
		b.giveBack(l, slot, 40)
		if n := b.left(l); n != 40 {
			b.Fatalf("%s: %d left; want 40", p, n)
		}
		b.giveBack(l, slot, 1000) // more units than were counted
		b.giveBack(l, slot, 1)
		if n := b.left(l); n != 100 {
			b.Fatalf("%s: %d left; want 100", p, n)
		}
	}
}

func leaseLateReturns(b *suite) {
	l := rate("l", 100, limit.Minute)
	slot := b.lease(demand(l, 1, 50))[0].Slot
	b.clock.Advance(10 * time.Second)
	b.lease(demand(l, 1, 50))
	b.giveBack(l, slot+1, 50) // no units were counted in this slot
	b.giveBack(l, slot+1000, 50)
	b.refused(b.recorded(l))
	b.clock.Advance(52 * time.Second) // the first lease leaves the window
	if n := b.left(l); n != 50 {
		b.Fatalf("%d left, want 50", n)
	}
	b.giveBack(l, slot, 50)
	b.giveBack(rate("unknown", 100, limit.Hour), 1, 1)
	if n := b.left(l); n != 49 {
		b.Fatalf("%d left, want 49", n)
	}
}

func leaseClockSetBack(b *suite) {
	for _, p := range periods[:5] {
		l := rate("l", 200, p)
		first := b.lease(demand(l, 10, 1))[0]
		b.clock.Advance(-400 * 24 * time.Hour)
		second := b.lease(demand(l, 10, 1))[0]
		if second.Slot != first.Slot || second.Ends <= 0 || second.Ends > p.SlotLength() || second.Expires > 2*p.SlotLength() {
			b.Fatalf("%s: %+v after %+v", p, second, first)
		}
		b.clock.Advance(400 * 24 * time.Hour)
		b.giveBack(l, second.Slot, 10)
		if n := b.left(l); n != 190 {
			b.Fatalf("%s: %d left; want 190", p, n)
		}
	}
}

func leaseInvalid(b *suite) {
	l := rate("l", 100, limit.Hour)
	slot := b.lease(demand(l, 1, 10))[0].Slot
	back := store.LeaseReturn{CounterSlot: store.CounterSlot{Principal: agent, LimitID: "l", Period: limit.Hour, Slot: slot}, Units: 5}
	none := back
	none.Units = 0
	for name, r := range map[string]store.LeaseRequest{
		"a calendar limit": {
			Demands: []store.LeaseDemand{demand(l, 1, 1), demand(rate("m", 100, limit.Month), 1, 1)},
			Returns: []store.LeaseReturn{back},
		},
		"a lifetime limit": {Demands: []store.LeaseDemand{demand(rate("m", 100, limit.Lifetime), 1, 1)}, Returns: []store.LeaseReturn{back}},
		"no period":        {Demands: []store.LeaseDemand{demand(rate("m", 100, "fortnight"), 1, 1)}, Returns: []store.LeaseReturn{back}},
		"less than none":   {Demands: []store.LeaseDemand{demand(rate("m", -1, limit.Hour), 1, 1)}, Returns: []store.LeaseReturn{back}},
		"a limit twice": {
			Demands: []store.LeaseDemand{demand(l, 1, 1), demand(rate("l", 200, limit.Hour), 1, 1)},
			Returns: []store.LeaseReturn{back},
		},
		"no units": {Returns: []store.LeaseReturn{back, none}},
	} {
		r.Service = service
		if got, err := b.Lease(b.Context(), r); err == nil || errors.Is(err, store.ErrUnavailable) || got != nil {
			b.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if n := b.left(l); n != 90 {
		b.Fatalf("%d left, want 90", n)
	}
}

func leaseSurvives(b *suite) {
	l := rate("l", 100, limit.Day)
	slot := b.lease(demand(l, 1, 60))[0].Slot
	b.reopen()
	if n := b.left(l); n != 40 {
		b.Fatalf("%d left, want 40", n)
	}
	b.giveBack(l, slot, 60) // one call began in the same slot
	if n := b.left(l); n != 99 {
		b.Fatalf("%d left, want 99", n)
	}
}

func leaseUsed(b *suite) {
	a := b.agree(b.agreement("n"))
	if !b.Used(service, "") || b.Used(service, a.ID) {
		b.Fatal("an agreement counts as used before its first call")
	}
	r := b.free()
	r.Execution.AgreementID = a.ID
	b.begin(r)
	if !b.Used(service, a.ID) || b.Used("another", a.ID) {
		b.Fatal("an agreement does not count as used after its first call")
	}
}

func leaseConcurrently(b *suite) {
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	l := rate("l", 5000, limit.Hour)
	template := b.free(l)
	var leased, returned, started atomic.Int64
	concurrently(b, 2000, []Engine{b, other}, func(e Engine, i int) error {
		switch i % 4 {
		case 0:
			r := template
			r.Execution.ID = fmt.Sprintf("%032d", i)
			r.Execution.IdempotencyKey = r.Execution.ID
			err := beginErr(b.Context(), e, r)
			if err == nil {
				started.Add(1)
			}
			return err
		case 1:
			slot := limit.Hour.Slot(b.clock.Now())
			n := int64(i % 5)
			if leased.Add(-n) < 0 || n == 0 { // return only leased units
				leased.Add(n)
				return nil
			}
			returned.Add(n)
			back := store.LeaseReturn{CounterSlot: store.CounterSlot{Principal: agent, LimitID: "l", Period: limit.Hour, Slot: slot}, Units: n}
			_, err := e.Lease(b.Context(), store.LeaseRequest{Service: service, Returns: []store.LeaseReturn{back}})
			return err
		default:
			got, err := e.Lease(b.Context(), store.LeaseRequest{Service: service, Demands: []store.LeaseDemand{demand(l, int64(i%7), 1)}})
			if err == nil {
				leased.Add(got[0].Units)
			}
			return err
		}
	}, isLimit)
	if n, want := b.left(l), 5000-leased.Load()-started.Load(); n != max(0, want) || started.Load() == 0 || returned.Load() == 0 {
		b.Fatalf("%d left; %d leased, %d returned and %d begun leave %d", n, leased.Load(), returned.Load(), started.Load(), want)
	}
}
