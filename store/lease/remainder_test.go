package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/lease"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// The states that are read without a call are those that the next call finds, in one process, on both engines.
func TestLeftWithoutACall(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) lease.Store{
		"SQLite": func(t *testing.T) lease.Store { t.Helper(); return openSQLite(t, t.TempDir(), time.Now) },
		"PostgreSQL": func(t *testing.T) lease.Store {
			t.Helper()
			s, err := sqlstore.Open(t.Context(), pgtest.Start(t).Database(t), sqlstore.Options{Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			h := lease.New(s, lease.Options{Now: time.Now, Sole: true})
			leased, small, shared := rate("leased", 100, limit.Week), rate("small", 3, limit.Week), rate("month", 50, limit.Month)
			shared.Principal = ""
			want := map[string]int64{"leased": 100, "small": 3, "month": 50}
			check := func() {
				t.Helper()
				list := []store.Reservation{leased, small, shared, leased}
				got, err := h.Left(t.Context(), "shop", list)
				if err != nil || len(got) != len(list) {
					t.Fatalf("got %+v, %v", got, err)
				}
				for i, r := range got {
					if r.Limit != list[i].Limit || r.Left != want[r.ID] || r.AtLeast {
						t.Errorf("got %+v, want %d left", r, want[r.ID])
					}
				}
			}
			check()
			for range 40 {
				if _, err := h.Begin(t.Context(), free(leased)); err != nil {
					t.Fatal(err)
				}
				want["leased"]--
				check()
			}
			for range 4 {
				_, err := h.Begin(t.Context(), free(leased, small, shared))
				if full, is := errors.AsType[*store.LimitError](err); is && full.ID == "small" && want["small"] == 0 {
					check()
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				for id := range want {
					want[id]--
				}
				check()
			}
		})
	}
}

// Several processes hold units of a leased limit that they have not used, so each reads a lower bound. Other limits are exact.
func TestLeftWithoutACallInSeveralProcesses(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t, func(o *lease.Options) { o.Sole = false })
	other := lease.New(r.store, r.opts)
	leased, exact := rate("leased", 1000, limit.Hour), rate("month", 50, limit.Month)
	for range 30 {
		if _, err := other.Begin(t.Context(), free(leased)); err != nil {
			t.Fatal(err)
		}
	}
	other.Begin(t.Context(), free(exact)) //nolint:errcheck // the numbers below show whether it failed
	r.begin(free(leased))
	got, err := r.Left(t.Context(), "shop", []store.Reservation{leased, exact})
	if err != nil || !got[0].AtLeast || got[0].Left > 1000-31 || got[0].Left < 1000-31-150 || got[1].AtLeast || got[1].Left != 49 {
		t.Errorf("got %+v, %v", got, err)
	}
	smaller, full := exact, exact
	smaller.Max, full.Max = 10, 1
	got, err = r.Left(t.Context(), "shop", []store.Reservation{smaller, exact, full})
	if err != nil || got[0].Left != 9 || got[1].Left != 49 || got[2].Left != 0 {
		t.Errorf("three maxima of one counter: got %+v, %v", got, err)
	}
	if _, err := r.Left(t.Context(), "shop", []store.Reservation{rate("x", -1, limit.Hour)}); err == nil {
		t.Error("a limit below zero is accepted")
	}
}

// Units of a lease that begins while the store is read are not counted twice.
func TestLeftDuringALease(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	s := &readingStore{countingStore: r.store}
	r.Holder = lease.New(s, r.opts)
	leased := rate("leased", 1000, limit.Hour)
	s.after = func() { r.begin(free(leased)) }
	got, err := r.Left(t.Context(), "shop", []store.Reservation{leased})
	if err != nil || got[0].Left > 1000 || !got[0].AtLeast {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A readingStore calls a function after it has read states.
type readingStore struct {
	*countingStore
	after func()
}

func (s *readingStore) Fits(ctx context.Context, service string, of []store.Reservation) ([]limit.Status, error) {
	states, err := s.countingStore.Fits(ctx, service, of)
	s.after()
	return states, err
}
