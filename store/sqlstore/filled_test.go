package sqlstore_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A filledDatabase is a database of an engine that is filled once, and copied for each change.
type filledDatabase struct {
	engine string
	copy   func(t *testing.T) (place string)
}

// filledOnce returns a database of each engine that fill has filled.
func filledOnce(t *testing.T, fill func(t *testing.T, place string)) []filledDatabase {
	t.Helper()
	file, server := filepath.Join(t.TempDir(), "state.db"), ownDatabase(t)
	sqlstore.Empty.Copy(t, file)
	fill(t, file)
	fill(t, server)
	if _, err := os.Stat(file + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the file is not complete: it has a write-ahead log (%v)", err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return []filledDatabase{
		{"SQLite", func(t *testing.T) string {
			t.Helper()
			path := filepath.Join(t.TempDir(), "state.db")
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}},
		{"PostgreSQL", func(t *testing.T) string { t.Helper(); return pgtest.Start(t).Copy(t, server) }},
	}
}

// some returns the names of the changes that are made on the engine: all on SQLite. A check is the same on both engines except for its
// queries, which each change runs, so PostgreSQL gets sqlstore.Altered of them, spread over all.
func (d filledDatabase) some(names []string) []string {
	n := len(names)
	if d.engine == "PostgreSQL" {
		n = min(n, sqlstore.Altered)
	}
	var some []string
	for i := range n {
		some = append(some, names[i*len(names)/n])
	}
	return some
}

// copyWith returns the place of a copy on which statements have run.
func (d filledDatabase) copyWith(t *testing.T, statements string) (place string) {
	t.Helper()
	place = d.copy(t)
	switch {
	case statements == "":
	case d.engine == "PostgreSQL":
		onDatabase(t, place, statements)
	default:
		if _, err := otherProcess(t, filepath.Dir(place)).ExecContext(t.Context(), statements); err != nil {
			t.Fatal(err)
		}
	}
	return place
}
