package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

func openOn(t *testing.T, dsn string, change func(*engine.Dialect)) *Store {
	t.Helper()
	d := engine.Postgres()
	if change != nil {
		change(d)
	}
	return openTest(t, dsn, time.Now, d)
}

func TestUnresponsiveDatabaseDenies(t *testing.T) {
	c := pgtest.Start(t)
	proxy := c.Proxy(t)
	dsn, err := proxy.DSN(c.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	s := openOn(t, dsn+"&connect_timeout=1", func(d *engine.Dialect) {
		d.Patience, d.CallPatience = time.Second, time.Second
	})
	// With so little patience, a slow machine may need several attempts. If an attempt is committed too late for a response, its key stays
	// in use until the store has undone it.
	begin := func(n int) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for {
			_, err := s.Begin(ctx, paidCall(n))
			again := errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrInProgress)
			if !again || ctx.Err() != nil {
				return err
			}
		}
	}
	if err := begin(1); err != nil {
		t.Fatal(err)
	}
	proxy.Stall()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := s.Begin(t.Context(), paidCall(100+i)); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%v; want ErrUnavailable", err)
			}
		})
	}
	all.Wait()
	if _, err := s.Executions(t.Context(), store.Filter{}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%v; want ErrUnavailable", err)
	}
	proxy.Heal()
	if err := begin(2); err != nil {
		t.Fatalf("after the database responds again: %v", err)
	}
}

// If two transactions wait for each other, the server ends one of them, and that transaction is retried.
func TestDeadlockIsRetried(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	var lost sync.Map
	s := openOn(t, dsn, func(d *engine.Dialect) {
		again := d.Retriable
		d.Retriable = func(err error) bool { lost.Store(engine.SQLState(err), true); return again(err) }
	})
	if _, err := s.Begin(t.Context(), paidCall(1)); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	run := func(q string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	run("SET deadlock_timeout = '1min'") // so that the other transaction detects the deadlock
	run("BEGIN")
	run("SELECT 1 FROM accounts FOR UPDATE")
	second := make(chan error, 1)
	go func() {
		_, err := s.Begin(t.Context(), paidCall(2)) // has locked the counter, and waits for the account
		second <- err
	}()
	for waiting := 0; waiting == 0; {
		if err := conn.QueryRow(t.Context(), "SELECT COUNT(*) FROM pg_locks WHERE NOT granted").Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	run("SELECT 1 FROM counters FOR UPDATE")
	run("COMMIT")
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	if _, deadlock := lost.Load("40P01"); !deadlock {
		t.Error("there was no deadlock")
	}
}

// Acknowledged calls stay begun or settled, whatever happens to the server. Calls that were not acknowledged are released soon.
func TestAServerThatRestartsUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t, nil)
	name, err := c.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	s := openOn(t, c.DSN(name), nil)
	var mu sync.Mutex
	held, captured := map[string]bool{}, map[string]bool{}
	enough := make(chan struct{})
	over := func() bool {
		select {
		case <-enough:
			return true
		default:
			return false
		}
	}
	var load sync.WaitGroup
	ok := make(chan struct{}, 1)
	for w := range 16 {
		load.Go(func() {
			for i := 0; !over(); i++ {
				r := paidCall(w*1_000_000 + i)
				r.Execution.AgentID = pat.AgentID(fmt.Sprintf("agent%d", w%3))
				r.Limits[0].Principal = pat.Principal(r.Execution.AgentID)
				admission, err := s.Begin(t.Context(), r)
				if errors.Is(err, store.ErrUnavailable) {
					continue
				} else if err != nil {
					t.Error(err)
					return
				}
				_, err = s.Settle(t.Context(), admission, store.Settlement{State: store.Captured, Outcome: store.Done, Answer: &store.Answer{}})
				mu.Lock()
				if err == nil {
					captured[admission.Execution.ID] = true
				} else {
					held[admission.Execution.ID] = true
				}
				mu.Unlock()
				select {
				case ok <- struct{}{}:
				default:
				}
			}
		})
	}
	for _, mode := range restarts {
		for range 50 {
			<-ok
		}
		if err := c.Restart(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		<-ok
	}
	close(enough)
	load.Wait()
	if err := s.Ready(t.Context()); err != nil && !errors.Is(err, store.ErrUnavailable) { // the connection is older than the restart
		t.Fatal(err)
	}
	awaitReleases(s.Releasing)
	balance := s.CheckBalance(t.Context())
	for errors.Is(balance, store.ErrUnavailable) { // the connection is older than the restart
		balance = s.CheckBalance(t.Context())
	}
	if balance != nil {
		t.Error(balance)
	}
	for after := ""; ; {
		page, err := s.Executions(t.Context(), store.Filter{After: after, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			after = e.ID
			switch {
			case captured[e.ID] && e.State != store.Captured, held[e.ID] && e.State != store.Captured && e.State != store.Held,
				!captured[e.ID] && !held[e.ID] && e.State != store.Released:
				t.Errorf("%s is %s; captured: %v, held: %v", e.ID, e.State, captured[e.ID], held[e.ID])
			}
			delete(captured, e.ID)
		}
		if len(page) == 0 {
			break
		}
	}
	if len(captured) > 0 {
		t.Errorf("%d charges are lost", len(captured))
	}
}
