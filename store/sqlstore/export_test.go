package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// empty is a database just made. Migrating is slow under the race detector, and hundreds of tests need one.
var empty = sync.OnceValues(func() (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "sqlstore")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "state.db")
	s, err := Open(context.Background(), path, Options{Now: time.Now})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Prepare puts an empty database at path, unless there is one.
func Prepare(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	b, err := empty()
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// OpenByClock opens a database whose clock is that of the options, also where it has one of its own.
func OpenByClock(ctx context.Context, place string, opts Options) (*Store, error) {
	d := sqliteDialect()
	if isPostgres(place) {
		d = postgresDialect()
		d.clock = ""
	}
	return open(ctx, place, opts, d)
}

// RoundTrips counts how often the writers of a store, which nobody uses yet, ask the database from now on.
func RoundTrips(s *Store) *atomic.Int64 {
	n, send := new(atomic.Int64), s.dialect.send
	s.dialect.send = func(ctx context.Context, w *writer, list []command) error {
		n.Add(1)
		return send(ctx, w, list)
	}
	return n
}

// Statements collects what a store, which nobody uses yet, asks the database from now on, in the database's own words.
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
	p, err := provider(db, d)
	if err == nil {
		_, err = p.UpTo(t.Context(), version)
	}
	if err != nil {
		t.Fatal(err)
	}
	return db
}
