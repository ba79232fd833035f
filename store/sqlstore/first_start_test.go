package sqlstore_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore"
)

// lifeOpen is the life of a process that creates its database and ends.
const lifeOpen = "open"

// A process that is killed while it creates its database leaves one that is empty or complete, and the next process can use it.
func TestKilledFirstStartLeavesNoPartOfTheSchema(t *testing.T) {
	t.Parallel()
	complete := objects(t, filepath.Join(t.TempDir(), "complete.db"), true)
	for name, written := range map[string]string{"when the file is written": "", "when the write-ahead log is written": "-wal"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 3 {
				path := filepath.Join(t.TempDir(), "state.db")
				killWhenWritten(t, path, path+written)
				if n := objects(t, path, false); n != "0" && n != complete {
					t.Errorf("the database has %s tables and indexes, want 0 or %s", n, complete)
				}
				if n := objects(t, path, true); n != complete {
					t.Errorf("after the next start, the database has %s tables and indexes, want %s", n, complete)
				}
			}
		})
	}
}

// killWhenWritten starts a process that creates the database at path, and kills it when the given file has bytes.
func killWhenWritten(t *testing.T, path, file string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), envDatabase+"="+path, envLife+"="+lifeOpen)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			<-ended //nolint:errcheck // it was killed
			return
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return // it was faster
		default:
			runtime.Gosched()
		}
	}
}

// objects returns how many tables and indexes a database has, after it was opened and closed if open is set.
func objects(t *testing.T, path string, open bool) string {
	t.Helper()
	if open {
		s, err := sqlstore.Open(t.Context(), path, sqlstore.Options{Now: time.Now})
		if err == nil {
			err = errors.Join(s.CheckBalance(t.Context()), s.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(rowsOf(t, path, "SELECT count(*) FROM sqlite_schema"), " ")
}
