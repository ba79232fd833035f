package lease_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/lease"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// In one process the remaining number is exact for leased calls, recorded calls and their repetitions, on both engines.
func TestLeftIsExactInOneProcess(t *testing.T) {
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
			h := lease.New(s, lease.Options{Now: time.Now, Sole: name == "SQLite"})
			q := free(rate("l", 100, limit.Week))
			keyed := free(rate("l", 100, limit.Week))
			var read []int64
			call := func(q store.BeginRequest) store.Admission {
				t.Helper()
				a, err := h.Begin(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				read = append(read, a.Standing[0].Left)
				return a
			}
			var want []int64
			for left := int64(100); left > 0; {
				q := q
				if left%7 == 0 {
					q = keyed
					q.Execution.ID, q.Execution.IdempotencyKey = fmt.Sprint(left), fmt.Sprint(left)
				}
				left--
				want = append(want, left)
				a := call(q)
				if !a.Recorded {
					continue
				}
				if _, err := h.Settle(t.Context(), a, store.Settlement{State: store.Captured, Outcome: store.Done}); err != nil {
					t.Fatal(err)
				}
				if again := call(q); again.Replay == nil {
					t.Fatal("the call was not recognized as a repetition")
				}
				want = append(want, left)
			}
			if fmt.Sprint(read) != fmt.Sprint(want) {
				t.Errorf("left reads %v; want %v", read, want)
			}
		})
	}
}

// With several processes, each reports the remainder that the store had at most two seconds ago, less its own calls: the number never
// rises, never exceeds the limit, and includes each call of the others that is at least two seconds old.
func TestLeftInSeveralProcesses(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t, func(o *lease.Options) { o.Sole = false })
	const most = 1000
	holders := []*lease.Holder{r.Holder, lease.New(r.store, r.opts), lease.New(r.store, r.opts)}
	last := []int64{most, most, most}
	q := free(rate("l", most, limit.Hour))
	var admitted, before int64
	for round := range 30 {
		for i, h := range holders {
			for range (round + i) % 5 * 4 {
				b, err := h.Begin(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				admitted++
				left := b.Standing[0].Left
				if left < 0 || left >= last[i] || left > most-before-1 || left < most-admitted-150 {
					t.Fatalf("process %d reads %d after %d calls (%d two seconds ago); before it read %d", i, left, admitted, before, last[i])
				}
				last[i] = left
			}
		}
		r.advance(2 * time.Second)
		before = admitted
		for _, h := range holders {
			if err := h.Tidy(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		last = []int64{most, most, most} // units that others returned may be available again
	}
	if admitted < 600 {
		t.Fatalf("got %d calls, want at least 600", admitted)
	}
}
