package schema_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite"

	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
)

// Before runs while the database has its old version, however old that is, but not if the version is too new.
func TestBeforeRunsBeforeAnyMigration(t *testing.T) {
	t.Parallel()
	errNo := errors.New("no")
	newest := schema.Newest()
	for name, c := range map[string]struct {
		made   int64 // schema version that an earlier program created
		marked int64 // version in the database that a later program marked
		needed bool  // the later program requires its version
		before error
		called bool
		want   error
		is     int64
	}{
		"a new database":                {called: true, is: newest},
		"one of an earlier version":     {made: schema.Journal - 1, called: true, is: newest},
		"of the version of the journal": {made: schema.Journal, called: true, is: newest},
		"of this version":               {made: newest, called: true, is: newest},
		"an error":                      {made: schema.Journal - 1, before: errNo, called: true, want: errNo, is: schema.Journal - 1},
		"an error in a new database":    {before: errNo, called: true, want: errNo},
		"an error at this version":      {made: newest, before: errNo, called: true, want: errNo, is: newest},
		"expanded by a later version":   {made: newest, marked: newest + 1, called: true, is: newest + 1},
		"a database of a later version": {made: newest, marked: newest + 1, needed: true, want: schema.ErrNewer, is: newest + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "state.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			db.SetMaxOpenConns(1)
			p, err := schema.Provider(db, goose.DialectSQLite3, nil)
			if err == nil && c.made > 0 {
				_, err = p.UpTo(t.Context(), c.made)
			}
			if err == nil && c.marked > 0 {
				_, err = db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, 1)", c.marked)
			}
			if err == nil && c.needed {
				_, err = db.ExecContext(t.Context(), "UPDATE sequences SET n = ? WHERE name = 'needs'", c.marked)
			}
			if err != nil {
				t.Fatal(err)
			}
			version := func() int64 {
				t.Helper()
				n, err := p.GetDBVersion(t.Context())
				if err != nil {
					t.Error(err)
				}
				return n
			}
			called := false
			err = schema.Migrate(t.Context(), db, schema.Options{
				Dialect: goose.DialectSQLite3, Alone: func(context.Context) error { return nil },
				Before: func(_ context.Context, from int64) error {
					called = true
					if n := version(); from != max(c.made, c.marked) || n != from {
						t.Errorf("Before got version %d of a database of version %d; want %d", from, n, c.made)
					}
					return c.before
				},
			})
			if !errors.Is(err, c.want) || called != c.called {
				t.Errorf("%v, called: %v; want %v", err, called, c.want)
			}
			if n := version(); n != c.is {
				t.Errorf("the version is %d; want %d", n, c.is)
			}
		})
	}
}
