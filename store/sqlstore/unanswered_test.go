package sqlstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// hangCommits makes every commit of a server wait until heal is called. Reads still get a response.
func hangCommits(t *testing.T, c *pgtest.Cluster) (heal func()) {
	t.Helper()
	run := func(statements ...string) {
		for _, q := range statements {
			if err := c.Exec(context.WithoutCancel(t.Context()), "", q); err != nil {
				t.Fatal(err)
			}
		}
	}
	run("CREATE TABLE probe (n INTEGER)", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
	var probe sync.WaitGroup
	probe.Go(func() {
		for c.Exec(t.Context(), "", "SET application_name = 'probe'; INSERT INTO probe VALUES (1)") == nil {
			continue // repeat until a commit hangs; heal ends it
		}
	})
	conn, err := pgx.Connect(t.Context(), c.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	const waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
	for n := 0; n == 0; {
		if err := conn.QueryRow(t.Context(), waiting).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'probe'",
			"ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
		probe.Wait()
	}
}

// begins reports whether statements record the beginning of a call.
func begins(list []engine.Command) bool {
	return slices.ContainsFunc(list, func(c engine.Command) bool { return strings.Contains(c.Query, "INTO executions (") })
}

// While a commit hangs, the calls queued behind it fail with it, instead of each waiting for a separate commit. The effect of a commit
// without a response is undone as soon as the database responds again.
func TestHangingCommitFailsQueuedCalls(t *testing.T) {
	t.Parallel()
	c := pgtest.Private(t, pgtest.Replicated)
	name, err := c.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var tried atomic.Int64
	first := make(chan struct{}, 1)
	s := openOn(t, c.DSN(name), func(d *engine.Dialect) {
		send := d.Send
		d.Send = func(ctx context.Context, w *engine.Writer, list []engine.Command) error {
			if begins(list) {
				tried.Add(1)
				select {
				case first <- struct{}{}:
				default:
				}
			}
			return send(ctx, w, list)
		}
	})
	if _, err := s.Begin(t.Context(), paidCall(0)); err != nil {
		t.Fatal(err)
	}
	<-first
	heal := hangCommits(t, c)
	tried.Store(0)
	var calls sync.WaitGroup
	refused := func(i int) {
		if _, err := s.Begin(t.Context(), paidCall(i)); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%v; want ErrUnavailable", err)
		}
	}
	for sent, n := false, 10_000; !sent; n++ { // on a busy machine a call can be refused before it is sent
		over := make(chan struct{})
		calls.Go(func() { refused(n); close(over) })
		select {
		case <-first:
			sent = true
		case <-over:
		}
	}
	for i := range 3 * 256 {
		calls.Go(func() { refused(2 + i) })
	}
	calls.Wait()
	if n := tried.Load(); n > 2 {
		t.Errorf("%d commits were tried in sequence; want 2 at most", n)
	}
	heal()
	if err := s.Ready(t.Context()); err != nil && !errors.Is(err, store.ErrUnavailable) {
		t.Fatal(err)
	}
	awaitReleases(s.Releasing)
	list, err := s.Executions(t.Context(), store.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if answered := e.ID == "000000"; (e.State == store.Held) != answered {
			t.Errorf("%s is %s", e.ID, e.State)
		}
	}
	if err := s.CheckBalance(t.Context()); err != nil {
		t.Error(err)
	}
}

// beyondLoad is a time limit that transactions keep on a machine that is busy with other tests.
const beyondLoad = 6 * time.Second

// A call is not retried if the database did not respond to its transaction, whatever statement was running.
func TestUnansweredCallIsNotRetried(t *testing.T) {
	t.Parallel()
	reads := func(list []engine.Command) bool { return strings.HasPrefix(list[0].Query, "SELECT") }
	for name, hangs := range map[string]func([]engine.Command) bool{"reading": reads, "writing": begins} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var silent atomic.Bool
			var tried atomic.Int64
			s := openOn(t, pgtest.Start(t).Database(t), func(d *engine.Dialect) {
				d.CallPatience = beyondLoad
				send := d.Send
				d.Send = func(ctx context.Context, w *engine.Writer, list []engine.Command) error {
					if silent.Load() && hangs(list) {
						tried.Add(1)
						<-ctx.Done()
						return ctx.Err()
					}
					return send(ctx, w, list)
				}
			})
			if _, err := s.Begin(t.Context(), paidCall(1)); err != nil {
				t.Fatal(err)
			}
			silent.Store(true)
			if _, err := s.Begin(t.Context(), paidCall(2)); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%v; want ErrUnavailable", err)
			}
			if n := tried.Load(); n != 1 {
				t.Errorf("tried %d times; want once", n)
			}
		})
	}
}

// A commit that hung can become visible after the call was refused and looked up. It is then undone.
func TestLateVisibleCommitIsUndone(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	name, err := c.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	run := func(statements string) {
		if err := c.Exec(t.Context(), name, statements); err != nil {
			t.Fatal(err)
		}
	}
	s := openOn(t, c.DSN(name), nil)
	admission, err := s.Begin(t.Context(), paidCall(1))
	if err != nil {
		t.Fatal(err)
	}
	run("CREATE TABLE hidden AS SELECT * FROM executions; DELETE FROM executions")
	s.Release(admission)
	awaitReleases(func() (busy bool, tries int) { // or until the first try has failed
		busy, tries = s.Releasing()
		return busy && tries == 0, tries
	})
	run("INSERT INTO executions SELECT * FROM hidden")
	awaitReleases(s.Releasing)
	if e, err := s.Execution(t.Context(), "s", admission.Execution.ID); err != nil || e.State != store.Released {
		t.Errorf("got %s, %v; want %v, nil", e.State, err, store.Released)
	}
}

// awaitReleases returns when a queue of calls to release is empty.
func awaitReleases(queue func() (busy bool, tries int)) {
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for busy := true; busy; busy, _ = queue() {
		<-poll.C
	}
}

// A call whose beginning was lost can begin again under the same id. The operation that undoes the lost beginning leaves the new one as it
// is.
func TestLostBeginningDoesNotEndItsRepetition(t *testing.T) {
	t.Parallel()
	var lose atomic.Bool
	s := openOn(t, pgtest.Start(t).Database(t), func(d *engine.Dialect) {
		d.CallPatience = beyondLoad
		send := d.Send
		d.Send = func(ctx context.Context, w *engine.Writer, list []engine.Command) error {
			if lose.Load() && begins(list) {
				<-ctx.Done()
				return ctx.Err()
			}
			return send(ctx, w, list)
		}
	})
	lose.Store(true)
	if _, err := s.Begin(t.Context(), paidCall(1)); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("%v; want ErrUnavailable", err)
	}
	lose.Store(false)
	again, err := s.Begin(t.Context(), paidCall(1))
	if err != nil {
		t.Fatal(err)
	}
	awaitReleases(s.Releasing)
	e, err := s.Settle(t.Context(), again, store.Settlement{State: store.Captured, Outcome: store.Done})
	if err != nil || e.State != store.Captured {
		t.Errorf("got %s, %v; want %s, nil", e.State, err, store.Captured)
	}
	if replayed, err := s.Begin(t.Context(), paidCall(1)); err != nil || replayed.Replay == nil {
		t.Errorf("the idempotency key was forgotten: %v", err)
	}
	if err := s.CheckBalance(t.Context()); err != nil {
		t.Error(err)
	}
}
