package lease_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/lease"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A countingStore counts transactions.
type countingStore struct {
	lease.Store
	begins, leases atomic.Int64
}

func (c *countingStore) Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error) {
	c.begins.Add(1)
	return c.Store.Begin(ctx, r)
}

func (c *countingStore) Lease(ctx context.Context, r store.LeaseRequest) ([]store.Lease, error) {
	c.leases.Add(1)
	return c.Store.Lease(ctx, r)
}

func (c *countingStore) transactions() int64 { return c.begins.Load() + c.leases.Load() }

func openSQLite(tb testing.TB, place string, now func() time.Time) *sqlstore.Store {
	tb.Helper()
	path := filepath.Join(place, "state.db")
	sqlitetest.Empty.Copy(tb, path)
	s, err := sqlstore.Open(tb.Context(), path, sqlstore.Options{Now: now})
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

// BenchmarkGrants admits calls under one limit and under three, from one holder and from three on one database.
func BenchmarkGrants(b *testing.B) {
	for _, c := range []struct {
		holders, limits, goroutines int
		period                      limit.Period
	}{
		{1, 1, 1, limit.Hour},
		{1, 1, 64, limit.Hour},
		{1, 3, 64, limit.Hour},
		{1, 1, 64, limit.Second},
		{3, 1, 1, limit.Hour},
		{3, 1, 64, limit.Hour},
		{3, 3, 64, limit.Hour},
		{3, 1, 64, limit.Second},
	} {
		b.Run(fmt.Sprintf("holders=%d/limits=%d/%s/goroutines=%d", c.holders, c.limits, c.period, c.goroutines), func(b *testing.B) {
			r := store.BeginRequest{Execution: store.Execution{Service: "s", AgentID: "a"}, Candidates: []store.Candidate{{}}, Hold: time.Minute}
			for i := range c.limits {
				l := limit.Limit{ID: fmt.Sprintf("%016x", i), Rate: limit.Rate{Max: limit.MaxCount, Period: c.period}}
				r.Limits = append(r.Limits, store.Reservation{Principal: "a", Limit: l})
			}
			place := b.TempDir()
			stores, holders := make([]*countingStore, c.holders), make([]*lease.Holder, c.holders)
			for i := range holders {
				stores[i] = &countingStore{Store: openSQLite(b, place, time.Now)}
				holders[i] = lease.New(stores[i], lease.Options{Now: time.Now, Sole: c.holders == 1})
				defer func() {
					if err := holders[i].Close(); err != nil {
						b.Error(err)
					}
				}()
			}
			b.ReportAllocs()
			b.ResetTimer()
			var next atomic.Int64
			var wg sync.WaitGroup
			for g := range c.holders * c.goroutines {
				h := holders[g%c.holders]
				wg.Go(func() {
					for next.Add(1) <= int64(b.N) {
						if _, err := h.Begin(b.Context(), r); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			var transactions int64
			for _, s := range stores {
				transactions += s.transactions()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "grants/s")
			b.ReportMetric(float64(transactions)*1000/float64(b.N), "transactions/1000")
		})
	}
}
