package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func readable(t *testing.T) *DB {
	t.Helper()
	db := New(SQLite(), Options{Now: func() time.Time { return time.Unix(1, 0) }, Elapsed: func() time.Duration { return 0 }})
	if err := db.Connect(t.Context(), filepath.Join(t.TempDir(), "state.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(db.write.Close(), db.read.Close()); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Readers prepare the first queries once, and give the right rows for any number of queries at the same time.
func TestReadersPrepareQueriesOnce(t *testing.T) {
	t.Parallel()
	db := readable(t)
	first, err := db.prepared.stmt(t.Context(), db.read, "SELECT ? + 0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 2 * maxPrepared {
				var n int
				found, err := db.One(t.Context(), fmt.Sprintf("SELECT ? + %d", i), []any{worker}, &n)
				if err != nil || !found || n != worker+i {
					t.Errorf("SELECT %d + %d returned %d, %t, %v", worker, i, n, found, err)
				}
			}
		})
	}
	all.Wait()
	if again, err := db.prepared.stmt(t.Context(), db.read, "SELECT ? + 0"); err != nil || again != first {
		t.Errorf("the first query was prepared again (error %v)", err)
	}
	if n := len(db.prepared.stmts); n != maxPrepared {
		t.Errorf("%d queries are prepared, want %d", n, maxPrepared)
	}
	for range 2 {
		if _, err := db.One(t.Context(), "SELECT missing", nil); err == nil {
			t.Error("an invalid query returned no error")
		}
	}
}

// A prepared query reads a table that was changed after the query was prepared.
func TestPreparedQueriesFollowTheSchema(t *testing.T) {
	t.Parallel()
	db := readable(t)
	write := func(query string) {
		t.Helper()
		if _, err := db.write.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	read := func(columns int) (sum int, err error) {
		dest := make([]any, columns)
		values := make([]int, columns)
		for i := range dest {
			dest[i] = &values[i]
		}
		_, err = db.One(t.Context(), "SELECT * FROM some_numbers", nil, dest...)
		for _, v := range values {
			sum += v
		}
		return sum, err
	}
	write("CREATE TABLE some_numbers (a)")
	write("INSERT INTO some_numbers VALUES (1)")
	if n, err := read(1); n != 1 || err != nil {
		t.Errorf("got %d, %v; want 1", n, err)
	}
	write("ALTER TABLE some_numbers ADD COLUMN b DEFAULT 2")
	if n, err := read(2); n != 3 || err != nil {
		t.Errorf("after a column was added: got %d, %v; want 3", n, err)
	}
	write("DROP TABLE some_numbers")
	if _, err := read(2); err == nil {
		t.Error("a dropped table was read")
	}
}
