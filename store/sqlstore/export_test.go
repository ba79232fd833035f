package sqlstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
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
