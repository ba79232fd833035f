package sqlstore_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A store connects to PostgreSQL when it needs a connection, and its writers use the same ones as long as they do not need them at the same
// time.
func TestStoreConnectsWhenNeeded(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	dsn := c.Database(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	connections := func(want int64, after string) {
		t.Helper()
		query := fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE datname = '%s'", strings.TrimPrefix(u.Path, "/"))
		if n, err := c.Number(t.Context(), "", query); err != nil || n != want {
			t.Errorf("after %s: %d connections, %v; want %d", after, n, err, want)
		}
	}
	for _, database := range []string{"a new database", "a known database"} {
		s, err := sqlstore.Open(t.Context(), dsn, sqlstore.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		connections(3, "opening "+database) // one of a writer, one of a reader, and one that listens
		for i := range 12 {
			r := charged(fmt.Sprint(database, i))
			r.Execution.AgentID = pat.AgentID(fmt.Sprint("agent", i)) // of different lanes
			admission, err := s.Begin(t.Context(), r)
			if err == nil {
				_, err = s.Settle(t.Context(), admission, captured)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		connections(3, "calls, one after another")
		for range 3 {
			if err := s.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		connections(4, "other operations")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
