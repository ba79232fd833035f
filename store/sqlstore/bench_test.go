package sqlstore_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

func openStore(tb testing.TB, dir string) *sqlstore.Store {
	tb.Helper()
	path := filepath.Join(dir, "state.db")
	sqlstore.Empty.Copy(tb, path)
	s, err := sqlstore.Open(tb.Context(), path, sqlstore.Options{Now: time.Now})
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

// engines are the databases that the benchmarks measure: a new one of each kind.
var engines = []struct {
	name string
	open func(b *testing.B) *sqlstore.Store
}{
	{"sqlite", func(b *testing.B) *sqlstore.Store { b.Helper(); return openStore(b, b.TempDir()) }},
	{"postgres", func(b *testing.B) *sqlstore.Store { b.Helper(); return openShared(b, freshDatabase(b)) }},
}

func openShared(tb testing.TB, dsn string) *sqlstore.Store {
	tb.Helper()
	s, err := sqlstore.Open(tb.Context(), dsn, sqlstore.Options{Now: time.Now})
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
func inParallel(b *testing.B, s *sqlstore.Store, goroutines int, call func(n int64) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	trips := sqlstore.RoundTrips(s)
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
	b.ReportMetric(float64(trips.Load())/float64(b.N), "round-trips/op")
}

func BenchmarkBegin(b *testing.B) {
	for _, engine := range engines {
		for _, limits := range []int{1, 3} {
			for _, goroutines := range []int{1, 16, 64} {
				b.Run(fmt.Sprintf("engine=%s/limits=%d/goroutines=%d", engine.name, limits, goroutines), func(b *testing.B) {
					s := engine.open(b)
					r := store.BeginRequest{Execution: store.Execution{Service: "s", AgentID: "a"}, Candidates: []store.Candidate{{}}, Hold: time.Minute}
					for i := range limits {
						r.Limits = append(r.Limits, store.Reservation{
							Principal: "a",
							Limit:     limit.Limit{ID: fmt.Sprint(i), Rate: limit.Rate{Max: limit.MaxCount, Period: limit.Hour}},
						})
					}
					inParallel(b, s, goroutines, func(int64) error {
						_, err := s.Begin(b.Context(), r)
						return err
					})
				})
			}
		}
	}
}

// BenchmarkPaidCall begins and settles calls of one agent, or of as many agents as there are concurrent calls.
func BenchmarkPaidCall(b *testing.B) {
	for _, engine := range engines {
		for _, agents := range []int64{1, 64} {
			for _, goroutines := range []int{1, 16, 64} {
				b.Run(fmt.Sprintf("engine=%s/agents=%d/goroutines=%d", engine.name, agents, goroutines), func(b *testing.B) {
					s := engine.open(b)
					inParallel(b, s, goroutines, func(n int64) error { return paidOnce(b.Context(), s, n, fmt.Sprintf("a%d", n%agents)) })
				})
			}
		}
	}
}

func paidOnce(ctx context.Context, s *sqlstore.Store, n int64, agent string) error {
	admission, err := s.Begin(ctx, store.BeginRequest{
		Execution: store.Execution{ID: fmt.Sprintf("%020d", n), Service: "s", AgentID: pat.AgentID(agent), IdempotencyKey: fmt.Sprint(n)},
		Limits: []store.Reservation{{
			Principal: pat.Principal(agent),
			Limit:     limit.Limit{ID: "1", Rate: limit.Rate{Max: limit.MaxCount, Period: limit.Hour}},
		}},
		Candidates: []store.Candidate{{Charge: money.Amount{Nano: 1, Currency: "USD"}}},
		Billing:    store.Billing{Credit: money.Amount{Nano: money.Unit, Currency: "USD"}},
		Hold:       time.Minute, KeyFor: 24 * time.Hour,
	})
	if err != nil {
		return err
	}
	_, err = s.Settle(ctx, admission, store.Settlement{State: store.Captured, Outcome: store.Done, Answer: &store.Answer{Output: []byte("{}")}})
	return err
}

// BenchmarkChargedCall begins and settles calls of 16 agents over 64 connections without idempotency keys, with and without nonces, and
// reports the processor time of each.
func BenchmarkChargedCall(b *testing.B) {
	for _, engine := range engines {
		for _, proved := range []bool{false, true} {
			b.Run(fmt.Sprintf("engine=%s/proved=%t", engine.name, proved), func(b *testing.B) {
				s := engine.open(b)
				before := processorTime(b)
				inParallel(b, s, 64, func(n int64) error { return chargedOnce(b.Context(), s, n%16, proved) })
				b.ReportMetric(float64(processorTime(b)-before)/float64(b.N)/1000, "cpu-µs/op")
			})
		}
	}
}

// processorTime returns the processor time of the process in nanoseconds.
func processorTime(b *testing.B) int64 {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return r.Utime.Nano() + r.Stime.Nano()
}

func chargedOnce(ctx context.Context, s *sqlstore.Store, n int64, proved bool) error {
	agent := fmt.Sprintf("agent-%d", n)
	r := store.BeginRequest{
		Execution: store.Execution{
			ID: uuid.Must(uuid.NewV7()).String(), Service: "bench.example", AgentID: pat.AgentID(agent), Intent: "bench.example:products:v1",
			AgreementID: pat.AgreementID("01920000-0000-7000-8000-00000000000" + agent), TokenID: pat.TokenID("01920000-0000-7000-8000-" + agent),
			PolicyDigest: "sha-256:" + strings.Repeat("0123456789abcdef", 4),
		},
		Limits: []store.Reservation{{
			Principal: pat.Principal(agent),
			Limit:     limit.Limit{ID: "policy/0/0", Rate: limit.Rate{Max: limit.MaxCount, Period: limit.Hour}},
		}},
		Candidates: []store.Candidate{{Rule: "permission/0", Charge: money.Amount{Nano: 1, Currency: "USD"}}},
		Billing:    store.Billing{Credit: money.Amount{Nano: money.Unit, Currency: "USD"}},
		Hold:       time.Minute,
	}
	if proved {
		r.Nonce = &store.Nonce{KeyID: keys.ID(strings.Repeat("k", 40) + agent), ID: rand.Text(), Until: time.Now().Add(time.Minute)}
	}
	admission, err := s.Begin(ctx, r)
	if err != nil {
		return err
	}
	_, err = s.Settle(ctx, admission, store.Settlement{State: store.Captured, Outcome: store.Done, Answer: &store.Answer{Output: []byte("{}")}})
	return err
}
