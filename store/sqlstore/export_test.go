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
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
)

// Empty is a new SQLite database.
var Empty = storetest.NewTemplate(func(path string) error {
	s, err := Open(context.Background(), path, Options{Now: time.Now})
	if err != nil {
		return err
	}
	return s.Close()
})

// slow is the patience with a database where a test is not about patience: the machine may be busy with other tests.
const slow = time.Minute

// OpenByClock opens a database whose clock is that of the options, also where it has one of its own.
func OpenByClock(ctx context.Context, place string, opts Options) (*Store, error) {
	d := sqliteDialect()
	d.anchored = false
	if isPostgres(place) {
		d = postgresDialect()
		d.clock, d.patience, d.callPatience = "", slow, slow
		place += "&connect_timeout=" + strconv.Itoa(int(slow.Seconds()))
	}
	return open(ctx, place, opts, d)
}

// RoundTrips counts the round trips of the writers of a store, which is not in use yet, from now on.
func RoundTrips(s *Store) *atomic.Int64 {
	n, send := new(atomic.Int64), s.dialect.send
	s.dialect.send = func(ctx context.Context, w *writer, list []command) error {
		n.Add(1)
		return send(ctx, w, list)
	}
	return n
}

// Statements collects the statements of a store, which is not in use yet, from now on, in the database's own SQL.
func Statements(s *Store) (seen func() []string) {
	var mu sync.Mutex
	all := map[string]bool{}
	rewrite := s.dialect.rewrite
	s.dialect.rewrite = func(query string) string {
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

// AwaitQueued returns once so many operations of groups wait behind one that runs.
func AwaitQueued(s *Store, n int) {
	for len(s.groups) < n {
		runtime.Gosched()
	}
}

// AtVersion makes a database with the schema of an earlier version.
func AtVersion(t *testing.T, place string, version int64) *sql.DB {
	t.Helper()
	d, driver, source := sqliteDialect(), "sqlite", sqliteSource(place, false)
	if isPostgres(place) {
		d, driver, source = postgresDialect(), "pgx", place
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	p, err := schema.Provider(db, d.goose, d.schema)
	if err == nil {
		_, err = p.UpTo(t.Context(), version)
	}
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// ServiceTables are the tables whose rows follow a service to another id.
func ServiceTables() []string { return slices.Clone(serviceTables) }

// TablesWithService returns the tables with a column service, in order.
func TablesWithService(ctx context.Context, s *Store) (tables []string, err error) {
	query := "SELECT t.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' AND c.name = 'service' ORDER BY t.name"
	if !s.dialect.sole {
		query = "SELECT table_name FROM information_schema.columns WHERE column_name = 'service' AND table_schema = current_schema() ORDER BY 1"
	}
	err = s.ask(ctx, query, nil, func(scan scan) error {
		var name string
		err := scan(&name)
		tables = append(tables, name)
		return err
	})
	return tables, err
}
