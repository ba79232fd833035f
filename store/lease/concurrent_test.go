package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/lease"
)

// concurrently makes the given number of calls at once and returns how many were admitted. An error other than a LimitError fails the test.
func (r *leaseTest) concurrently(calls int, call func(i int) store.BeginRequest) int64 {
	r.Helper()
	var admitted atomic.Int64
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for i := range calls {
		wg.Go(func() {
			<-gate
			_, err := r.Begin(r.Context(), call(i))
			if _, full := errors.AsType[*store.LimitError](err); err != nil && !full {
				r.Error(err)
			} else if err == nil {
				admitted.Add(1)
			}
		})
	}
	close(gate)
	wg.Wait()
	return admitted.Load()
}

func TestConcurrentCallsOnOneLimit(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	q := free(rate("l", 3000, limit.Hour), rate("wide", 10_000, limit.Day))
	if n := r.concurrently(5000, func(int) store.BeginRequest { return q }); n != 3000 {
		t.Fatalf("%d admitted, want 3000", n)
	}
	// A call joins the request in progress; the units that calls wait for are requested together.
	if n := r.store.transactions(); n > 100 {
		t.Fatalf("got %d transactions, want at most 100", n)
	}
	if s := r.begin(free(rate("wide", 10_000, limit.Day))).Standing[0]; s.Left != 10_000-3001 {
		t.Fatalf("got %+v, want Left %v", s, 10_000-3001)
	}
}

func TestConcurrentCallsOnManyLimits(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	ceiling := store.Reservation{Limit: limit.Limit{ID: "ceiling", Rate: limit.Rate{Max: 2000, Period: limit.Hour}}}
	n := r.concurrently(4000, func(i int) store.BeginRequest {
		if i%200 == 0 { // leases expire and are returned in the meantime
			r.advance(3 * time.Second)
			if err := r.Tidy(t.Context()); err != nil {
				t.Error(err)
			}
		}
		a, b := rate(fmt.Sprint(i%7), 1000, limit.Day), rate(fmt.Sprint(i%3), 5000, limit.Week)
		q := free(a, b)
		if i%2 == 0 {
			q = free(b, a)
		}
		q.Limits = []store.Reservation{ceiling}
		if i%50 == 0 {
			q.Execution.ID, q.Execution.IdempotencyKey = fmt.Sprint(i), fmt.Sprint(i)
		}
		return q
	})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var left int64
	q := free(ceiling)
	if b, err := r.Begin(t.Context(), q); err == nil {
		left = b.Standing[0].Left + 1
	}
	if n != 2000 || left != 0 {
		t.Fatalf("%d admitted, %d left", n, left)
	}
}

// A blockingStore responds when the test permits it.
type blockingStore struct {
	*countingStore
	requested, answer chan struct{}
}

func (s *blockingStore) Lease(ctx context.Context, r store.LeaseRequest) ([]store.Lease, error) {
	s.requested <- struct{}{}
	select {
	case <-s.answer:
		return s.countingStore.Lease(ctx, r)
	case <-ctx.Done():
		<-s.answer // the request is executing and cannot be canceled
		return nil, store.ErrUnavailable
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	s := &blockingStore{r.store, make(chan struct{}, 1), make(chan struct{})}
	r.Holder = lease.New(s, r.opts)
	q := free(rate("l", 1000, limit.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := r.Begin(ctx, q)
		first <- err
	}()
	<-s.requested
	cancel() // the first caller leaves; the one that joined gets the response
	if err := <-first; !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v; want %v and %v", err, store.ErrUnavailable, context.Canceled)
	}
	second := make(chan error, 1)
	go func() {
		_, err := r.Begin(t.Context(), q)
		second <- err
	}()
	close(s.answer)
	if err := <-second; err != nil {
		t.Fatal(err)
	}
}

func TestSlowStoreTimesOut(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	s := &blockingStore{r.store, make(chan struct{}, 1), make(chan struct{})}
	r.Holder = lease.New(s, r.opts)
	r.BoundPatience(10 * time.Millisecond)
	q := free(rate("l", 1000, limit.Hour))
	if _, err := r.Begin(t.Context(), q); !errors.Is(err, store.ErrUnavailable) { // the store is still busy
		t.Fatalf("got %v, want %v", err, store.ErrUnavailable)
	}
	if _, err := r.Begin(t.Context(), q); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got %v, want %v", err, store.ErrUnavailable)
	}
	if len(s.requested) != 1 {
		t.Fatal("a second request was sent during the first")
	}
	close(s.answer)
	if err := r.Close(); err != nil { // Close waits for the request
		t.Fatal(err)
	}
}
