package sqlstore

import (
	"errors"
	"strings"
	"testing"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store"
)

// lossyServer starts a server that loses the last ten seconds in a crash if commits are not durable.
func lossyServer(t *testing.T) (c *pgtest.Cluster, dsn string) {
	t.Helper()
	c = pgtest.Private(t, map[string]string{"wal_writer_delay": "'10s'", "wal_writer_flush_after": "'1GB'"})
	name, err := c.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return c, c.DSN(name)
}

func setting(t *testing.T, c *pgtest.Cluster, what string) {
	t.Helper()
	for _, statement := range []string{"ALTER SYSTEM SET " + what, "SELECT pg_reload_conf()"} {
		if err := c.Exec(t.Context(), "", statement); err != nil {
			t.Fatal(err)
		}
	}
}

func TestChargesSurviveServerWithSynchronousCommitOff(t *testing.T) {
	t.Parallel()
	c, dsn := lossyServer(t)
	s := openOn(t, dsn, nil)
	if _, err := s.Begin(t.Context(), paidCall(1)); err != nil {
		t.Fatal(err)
	}
	setting(t, c, "synchronous_commit = off")
	var captured []string
	for i := range 50 {
		admission, err := s.Begin(t.Context(), paidCall(2+i))
		if err == nil {
			_, err = s.Settle(t.Context(), admission, store.Settlement{State: store.Captured, Outcome: store.Done})
		}
		if err != nil {
			t.Fatal(err)
		}
		captured = append(captured, admission.Execution.ID)
	}
	if err := c.Restart(t.Context(), pgtest.Immediate); err != nil {
		t.Fatal(err)
	}
	setting(t, c, "synchronous_commit = on")
	lost := 0
	for _, id := range captured {
		if e, err := s.Execution(t.Context(), "s", id); err != nil || e.State != store.Captured {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d captured charges were lost in a crash", lost, len(captured))
	}
}

func TestServerWithFsyncOffIsDetected(t *testing.T) {
	t.Parallel()
	c, dsn := lossyServer(t)
	s := openOn(t, dsn, nil)
	setting(t, c, "fsync = off")
	for { // until the server has applied the setting to its connections
		err := s.Ready(t.Context())
		if errors.Is(err, store.ErrUnavailable) && strings.Contains(err.Error(), "fsync") {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	setting(t, c, "fsync = on")
	for s.Ready(t.Context()) != nil {
		if t.Context().Err() != nil {
			t.Fatal("not available again")
		}
	}
}

func TestCloseAfterLostConnections(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	database, err := c.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	s := openOn(t, c.DSN(database), nil)
	for i := range 8 {
		if _, err := s.Begin(t.Context(), paidCall(i)); err != nil {
			t.Fatal(err)
		}
	}
	const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	if err := c.Exec(t.Context(), database, end); err != nil {
		t.Fatal(err)
	}
	s.db.Note(map[string]int64{"left": 1}) // Close writes this last
	if err := s.Close(); err != nil {
		t.Errorf("closed after the connections were lost: %v", err)
	}
}
