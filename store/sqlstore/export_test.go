package sqlstore

import (
	"context"
	"database/sql"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	storetest "github.com/uimgate/uimgate/internal/test/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
	"github.com/uimgate/uimgate/store/sqlstore/upkeep"
)

// Empty is a new SQLite database.
var Empty = storetest.NewTemplate(func(path string) error {
	s, err := Open(context.Background(), path, Options{Now: time.Now})
	if err != nil {
		return err
	}
	return s.Close()
})

// slow is the patience with a database in tests that do not test patience, because the machine may be busy.
const slow = time.Minute

// OpenByClock opens a database that uses the clock in the options, even if the engine has its own.
func OpenByClock(ctx context.Context, place string, opts Options) (*Store, error) {
	return OpenByClockSeen(ctx, place, opts, func(string) {})
}

// OpenByClockSeen is like OpenByClock, and calls seen with each statement that the database receives.
func OpenByClockSeen(ctx context.Context, place string, opts Options, seen func(query string)) (*Store, error) {
	d := engine.DialectOf(place)
	d.Counting = engine.ByClock
	if engine.IsPostgres(place) {
		d.Clock, d.Patience, d.CallPatience = "", slow, slow
		place += "&connect_timeout=" + strconv.Itoa(int(slow.Seconds()))
	}
	rewrite := d.Rewrite
	d.Rewrite = func(query string) string {
		query = rewrite(query)
		seen(query)
		return query
	}
	return open(ctx, place, opts, d, newJournal)
}

// RoundTrips counts the round trips of a store's writers. Call it before the store is used.
func RoundTrips(s *Store) *atomic.Int64 {
	d := s.db.Dialect()
	n, send := new(atomic.Int64), d.Send
	d.Send = func(ctx context.Context, w *engine.Writer, list []engine.Command) error {
		n.Add(1)
		return send(ctx, w, list)
	}
	return n
}

// Statements collects the SQL statements of a store as the database receives them. Call it before the store is used.
func Statements(s *Store) (seen func() []string) {
	var mu sync.Mutex
	all := map[string]bool{}
	d := s.db.Dialect()
	rewrite := d.Rewrite
	d.Rewrite = func(query string) string {
		query = rewrite(query)
		mu.Lock()
		defer mu.Unlock()
		all[query] = true
		return query
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(maps.Keys(all))
	}
}

// AwaitQueued returns when n operations of groups are queued.
func AwaitQueued(s *Store, n int) {
	for {
		if _, _, groups := s.db.Queued(); groups >= n {
			return
		}
		runtime.Gosched()
	}
}

// AtVersion creates a database with the schema of an earlier version.
func AtVersion(t *testing.T, place string, version int64) *sql.DB {
	t.Helper()
	d, driver, source := engine.DialectOf(place), "sqlite", engine.SQLiteSource(place, false)
	if engine.IsPostgres(place) {
		driver, source = "pgx", place
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	p, err := schema.Provider(db, d.Goose, d.Schema)
	if err == nil {
		_, err = p.UpTo(t.Context(), version)
	}
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// ServiceTables returns the tables whose rows move with a service to a new id.
func ServiceTables() []string { return slices.Clone(upkeep.ServiceTables) }

// TablesWithService returns the tables with a column service, in order.
func TablesWithService(ctx context.Context, s *Store) (tables []string, err error) {
	query := "SELECT t.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' AND c.name = 'service' ORDER BY t.name"
	if s.db.Sharing() == engine.Shared {
		query = "SELECT table_name FROM information_schema.columns WHERE column_name = 'service' AND table_schema = current_schema() ORDER BY 1"
	}
	err = s.db.Ask(ctx, query, nil, func(scan engine.Scan) error {
		var name string
		err := scan(&name)
		tables = append(tables, name)
		return err
	})
	return tables, err
}
