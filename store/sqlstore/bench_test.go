package sqlstore_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/limit"
	"github.com/uimgate/uimgate/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

func openStore(tb testing.TB, dir string) *sqlstore.Store {
	tb.Helper()
	s, err := sqlstore.Open(tb.Context(), filepath.Join(dir, "state.db"), sqlstore.Options{Now: time.Now})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// inParallel spreads b.N calls over goroutines.
func inParallel(b *testing.B, goroutines int, call func(n int64) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range goroutines {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := call(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

func BenchmarkBegin(b *testing.B) {
	for _, limits := range []int{1, 3} {
		for _, goroutines := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("limits=%d/goroutines=%d", limits, goroutines), func(b *testing.B) {
				s := openStore(b, b.TempDir())
				r := store.BeginRequest{Execution: store.Execution{Service: "s", AgentID: "a"}, Candidates: []store.Candidate{{}}}
				for i := range limits {
					r.Limits = append(r.Limits, store.Reservation{
						AgentID: "a",
						Limit:   limit.Limit{ID: fmt.Sprint(i), Rate: limit.Rate{Max: limit.MaxCount, Period: limit.Hour}},
					})
				}
				inParallel(b, goroutines, func(int64) error {
					_, err := s.Begin(b.Context(), r)
					return err
				})
			})
		}
	}
}

func BenchmarkPaidCall(b *testing.B) {
	for _, goroutines := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			s := openStore(b, b.TempDir())
			charge := money.Amount{Nano: 1, Currency: "USD"}
			inParallel(b, goroutines, func(n int64) error {
				begun, err := s.Begin(b.Context(), store.BeginRequest{
					Execution:  store.Execution{ID: fmt.Sprintf("%020d", n), Service: "s", AgentID: "a", IdempotencyKey: fmt.Sprint(n)},
					Limits:     []store.Reservation{{AgentID: "a", Limit: limit.Limit{ID: "1", Rate: limit.Rate{Max: limit.MaxCount, Period: limit.Hour}}}},
					Candidates: []store.Candidate{{Charge: charge}},
					Billing:    store.Billing{Credit: money.Amount{Nano: money.Unit, Currency: "USD"}},
				})
				if err != nil {
					return err
				}
				_, err = s.Settle(b.Context(), begun, store.Settlement{State: store.Captured, Outcome: store.Done, Answer: &store.Answer{Status: 200, Body: []byte("{}")}})
				return err
			})
		})
	}
}
