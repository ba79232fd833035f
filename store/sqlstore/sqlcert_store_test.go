package sqlstore_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store/sqlcert"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// onEach runs a test on SQLite and on PostgreSQL. open opens the same database again.
func onEach(t *testing.T, run func(t *testing.T, open func(now func() time.Time) *sqlcert.Store)) {
	t.Helper()
	for name, place := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { t.Helper(); return filepath.Join(t.TempDir(), "state.db") },
		"postgres": func(t *testing.T) string { t.Helper(); return pgtest.Start(t).Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := place(t)
			var first *sqlstore.Store
			run(t, func(now func() time.Time) *sqlcert.Store {
				if name == "sqlite" && first != nil {
					return sqlcert.New(first) // only one process at a time can open the file
				}
				db, err := sqlstore.Open(t.Context(), at, sqlstore.Options{Now: now})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = db.Close() })
				first = db
				return sqlcert.New(db)
			})
		})
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, open func(func() time.Time) *sqlcert.Store) {
		t.Helper()
		ctx, s := t.Context(), open(time.Now)
		for name, text := range map[string]string{"a/b/one": "1", "a/b/two": "2", "a/three": "3", "a_b": "\x00\xff", "ab/c": "4"} {
			for _, value := range []string{"before", text} {
				if err := s.Store(ctx, name, []byte(value)); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := s.Load(ctx, name); string(got) != text || err != nil {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		for path, want := range map[string][2][]string{
			"a":   {{"a/b", "a/three"}, {"a/b/one", "a/b/two", "a/three"}},
			"a/b": {{"a/b/one", "a/b/two"}, {"a/b/one", "a/b/two"}},
			"":    {{"a", "a_b", "ab"}, {"a/b/one", "a/b/two", "a/three", "a_b", "ab/c"}},
		} {
			for i, recursive := range []bool{false, true} {
				got, err := s.List(ctx, path, recursive)
				slices.Sort(got)
				if !slices.Equal(got, want[i]) || err != nil {
					t.Errorf("below %q: %q, %v; want %q", path, got, err, want[i])
				}
			}
		}
		info, err := s.Stat(ctx, "a/b/one")
		if err != nil || !info.IsTerminal || info.Size != 1 || time.Since(info.Modified).Abs() > time.Hour {
			t.Errorf("got %+v, %v", info, err)
		}
		if info, err = s.Stat(ctx, "a/b"); err != nil || info.IsTerminal {
			t.Errorf("a directory: %+v, %v", info, err)
		}
		if err := s.Delete(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		for _, gone := range []string{"a", "a/b", "a/three"} {
			if _, err := s.Load(ctx, gone); !errors.Is(err, fs.ErrNotExist) || s.Exists(ctx, gone) {
				t.Errorf("%s: %v", gone, err)
			}
		}
		if !s.Exists(ctx, "a_b") || !s.Exists(ctx, "ab/c") {
			t.Error("another value was deleted")
		}
		if err := s.Delete(ctx, "a"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("deleting a missing value: %v, want %v", err, fs.ErrNotExist)
		}
		if err := s.Store(ctx, "large", make([]byte, 2<<20)); err == nil {
			t.Error("2 MiB were stored")
		}
	})
}

func TestLocks(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, open func(func() time.Time) *sqlcert.Store) {
		t.Helper()
		ctx, one := t.Context(), open(time.Now)
		other := open(time.Now)
		if err := one.Lock(ctx, "issue"); err != nil {
			t.Fatal(err)
		}
		if took, err := other.TryLock(ctx, "issue"); took || err != nil {
			t.Fatalf("two processes hold the lock: %v, %v; want false, nil", took, err)
		}
		if took, err := other.TryLock(ctx, "another"); !took || err != nil {
			t.Fatalf("another lock: %v, %v; want true, nil", took, err)
		}
		if err := other.Unlock(ctx, "issue"); err == nil {
			t.Error("a process that does not hold the lock released it")
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if err := other.Lock(ended, "issue"); err == nil {
			t.Error("Lock did not return when its context ended")
		}
		took := make(chan error, 1)
		go func() { took <- other.Lock(ctx, "issue") }()
		if err := one.Unlock(ctx, "issue"); err != nil {
			t.Fatal(err)
		}
		if err := <-took; err != nil {
			t.Fatal(err)
		}
		if took, err := one.TryLock(ctx, "issue"); took || err != nil {
			t.Fatalf("two processes hold the lock: %v, %v; want false, nil", took, err)
		}
	})
}

// A process that crashed keeps a lock only until its lease ends.
func TestLockExpires(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "state.db")
	takes := func(ahead time.Duration) bool { // the process ends without unlocking
		t.Helper()
		db, err := sqlstore.Open(t.Context(), at, sqlstore.Options{Now: func() time.Time { return time.Now().Add(ahead) }})
		if err != nil {
			t.Fatal(err)
		}
		took, err := sqlcert.New(db).TryLock(t.Context(), "issue")
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		return took
	}
	for _, step := range []struct {
		ahead time.Duration
		want  bool
	}{{0, true}, {time.Second, false}, {3 * time.Minute, true}} {
		if got := takes(step.ahead); got != step.want {
			t.Errorf("after %v: locked: %v, want %v", step.ahead, got, step.want)
		}
	}
}
