package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/lease"
)

// hookedStore calls functions before and after a lease transaction.
type hookedStore struct {
	*countingStore
	before, after func()
}

func (h *hookedStore) Lease(ctx context.Context, r store.LeaseRequest) ([]store.Lease, error) {
	if h.before != nil {
		h.before()
	}
	got, err := h.countingStore.Lease(ctx, r)
	if h.after != nil {
		h.after()
	}
	return got, err
}

// A holder never spends an expired lease, even if one of its two clocks is wrong.
func TestExpiredLease(t *testing.T) {
	t.Parallel()
	const slot = time.Second // of a limit per minute
	for name, c := range map[string]struct{ truth, wall, steady time.Duration }{
		"process stopped":                          {5 * slot, 5 * slot, 5 * slot},
		"machine asleep":                           {5 * slot, 5 * slot, 0},
		"wall clock set back":                      {5 * slot, -time.Hour, 5 * slot},
		"wall clock set back by the same time":     {5 * slot, 0, 5 * slot},
		"wall clock set forward":                   {0, time.Hour, 0},
		"wall clock set forward, then time passes": {slot, time.Hour, slot},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newLeaseTest(t)
			q := free(rate("l", 100_000, limit.Minute))
			r.warm(q)
			r.truth.Advance(c.truth)
			r.wall.Advance(c.wall)
			r.steady.Advance(c.steady)
			r.costs(1, func() {
				b := r.begin(q)
				if want := limit.Minute.Slot(r.truth.Now()); b.Taken[0].Slot != want {
					t.Fatalf("a unit of slot %d was spent in slot %d", b.Taken[0].Slot, want)
				}
				if s := b.Standing[0]; s.Left != 100_000-22 { // the rest of the old lease was returned
					t.Fatalf("got %+v, want Left %v", s, 100_000-22)
				}
			})
		})
	}
}

func TestLeaseEndsExactly(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	q := free(rate("l", 100_000, limit.Minute))
	r.warm(q)
	ends := limit.Minute.Ends(limit.Minute.Slot(start)).Sub(start)
	r.advance(ends - 1)
	r.costs(0, func() {
		if b := r.begin(q); b.Expires != limit.Minute.SlotLength()+1 {
			t.Fatalf("the grant lives for %v", b.Expires)
		}
	})
	r.advance(1)
	r.costs(1, func() {
		if b := r.begin(q); b.Expires != 2*limit.Minute.SlotLength() {
			t.Fatalf("the grant lives for %v", b.Expires)
		}
	})
}

// The validity of a grant counts from the request to the store, because the store may have answered at once and the answer may be late.
func TestSlowStore(t *testing.T) {
	t.Parallel()
	ends := limit.Minute.Ends(limit.Minute.Slot(start)).Sub(start)
	for name, c := range map[string]struct {
		slow time.Duration
		want time.Duration // validity of the grant, from the begin of the call
	}{
		"a little":                 {ends / 2, ends + time.Second},
		"for longer than the slot": {ends + 500*time.Millisecond, ends + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newLeaseTest(t)
			h := &hookedStore{countingStore: r.store, after: func() { r.advance(c.slow) }}
			r.Holder = lease.New(h, r.opts)
			q := free(rate("l", 100_000, limit.Minute))
			b := r.begin(q)
			if b.Expires != c.want || b.Taken[0].Slot != limit.Minute.Slot(start) {
				t.Fatalf("got %+v", b)
			}
			if r.store.transactions() != 1 {
				t.Fatalf("got %d transactions, want 1", r.store.transactions())
			}
		})
	}
	t.Run("for longer than a grant lives", func(t *testing.T) {
		t.Parallel()
		r := newLeaseTest(t)
		h := &hookedStore{countingStore: r.store, after: func() { r.advance(3 * time.Second) }}
		r.Holder = lease.New(h, r.opts)
		b := r.begin(free(rate("l", 100_000, limit.Minute))) // the store admits the call, because its leases arrive too late
		if r.store.begins.Load() != 1 || b.Expires <= 0 {
			t.Fatalf("got %+v", b)
		}
		h.after = nil
		if s := r.begin(free(rate("l", 100_000, limit.Minute))).Standing[0]; s.Left != 100_000-2 { // expired leases were returned
			t.Fatalf("got %+v, want Left %v", s, 100_000-2)
		}
	})
}

// The store's clock determines the slot, even if the clock of a holder is wrong.
func TestHolderWithWrongClock(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	r.wall.Advance(5 * time.Second)
	q := free(rate("l", 1000, limit.Minute))
	for range 500 {
		b := r.begin(q)
		if want := limit.Minute.Slot(r.truth.Now()); b.Taken[0].Slot != want {
			t.Fatalf("slot %d in slot %d", b.Taken[0].Slot, want)
		}
		if most := limit.Minute.Expires(b.Taken[0].Slot).Sub(r.truth.Now()); b.Expires > most {
			t.Fatalf("the grant lives for %v; want at most %v", b.Expires, most)
		}
		r.advance(17 * time.Millisecond)
	}
}

// If the response to a lease is lost, its units count as used. The same applies to a return whose arrival is unknown.
func TestUnknownTransaction(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	lossy := &lossyStore{countingStore: r.store}
	r.Holder = lease.New(lossy, r.opts)
	q := free(rate("l", 1000, limit.Day))
	r.warm(q)
	lossy.lose = true
	r.advance(time.Minute)
	if err := r.Tidy(t.Context()); !errors.Is(err, store.ErrUnavailable) { // the return did arrive
		t.Fatalf("got %v, want %v", err, store.ErrUnavailable)
	}
	if _, err := r.Begin(t.Context(), q); !errors.Is(err, store.ErrUnavailable) { // units were leased
		t.Fatalf("got %v, want %v", err, store.ErrUnavailable)
	}
	lossy.lose = false
	if s := r.begin(q).Standing[0]; s.Left >= 1000-22 || s.Left < 1000-22-100 {
		t.Fatalf("got %+v; want Left less than %v and Left at least %v", s, 1000-22, 1000-22-100)
	}
}

// A lossyStore executes requests and loses the responses.
type lossyStore struct {
	*countingStore
	lose bool
}

func (l *lossyStore) Lease(ctx context.Context, r store.LeaseRequest) ([]store.Lease, error) {
	got, err := l.countingStore.Lease(ctx, r)
	if l.lose {
		return nil, store.ErrUnavailable
	}
	return got, err
}
