package lease_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	storetest "github.com/uimgate/uimgate/internal/test/store"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/lease"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// An engine is a store whose calls begin through a Holder.
type engine struct {
	*sqlstore.Store
	leases *lease.Holder
}

func (e engine) Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error) {
	return e.leases.Begin(ctx, r)
}

func (e engine) Settle(ctx context.Context, a store.Admission, to store.Settlement) (store.Execution, error) {
	return e.leases.Settle(ctx, a, to)
}

// NeverJumps marks an engine whose clock begins at the last slot when the store is opened.
func (e engine) NeverJumps() {}

func (e engine) Close() error { return errors.Join(e.leases.Close(), e.Store.Close()) }

// forward turns a clock that may be set back into one that only moves forward. Setting it back counts as the same time forward, so that the
// holder discards its state and asks the store again.
func forward(now func() time.Time) func() time.Duration {
	var mu sync.Mutex
	last, passed := now(), time.Duration(0)
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		t := now()
		passed += t.Sub(last).Abs()
		last = t
		return passed
	}
}

// The whole suite passes with leases in front of the store, even if every rolling limit is leased: in a single process leases make no
// difference.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from int64
		run  func(*testing.T, storetest.Opener)
	}{"large limits": {limit.LeaseFrom, storetest.RunLimits}, "every limit": {1, storetest.Run}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t, func(t *testing.T, place string, now func() time.Time) storetest.Engine {
				t.Helper()
				path := filepath.Join(place, "state.db")
				sqlitetest.Empty.Copy(t, path)
				s, err := sqlstore.Open(t.Context(), path, sqlstore.Options{Now: now})
				if err != nil {
					t.Fatal(err)
				}
				s.KeepLedger(storetest.LedgerKept)
				h := lease.New(s, lease.Options{Now: now, Elapsed: forward(now), Sole: true})
				h.LeaseFrom(c.from)
				return engine{s, h}
			})
		})
	}
}
