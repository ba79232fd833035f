package sqlstore_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	storetest "github.com/uimgate/uimgate/internal/test/store"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// The environment variables that make the test binary the process that is killed.
const (
	envDatabase = "SQLSTORE_TEST_DATABASE"
	envLife     = "SQLSTORE_TEST_LIFE"
)

func TestMain(m *testing.M) {
	if database := os.Getenv(envDatabase); database != "" {
		if err := work(context.Background(), database, os.Getenv(envLife)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func work(ctx context.Context, database, life string) error {
	s, err := sqlstore.Open(ctx, database, sqlstore.Options{Now: time.Now})
	if err != nil {
		return err
	}
	switch life {
	case lifeOpen:
		return s.Close()
	case "charges":
		return makeCharges(ctx, s)
	}
	return storetest.Work(ctx, s, life, os.Stdout)
}

// makeCharges begins and captures calls without keys, two at a time, and prints the id of each captured one.
func makeCharges(ctx context.Context, s *sqlstore.Store) error {
	failed := make(chan error)
	for worker := range 2 {
		go func() {
			for i := 0; ; i++ {
				r := charged(fmt.Sprintf("%d-%06d", worker, i))
				r.Execution.IdempotencyKey = ""
				admission, err := s.Begin(ctx, r)
				if err == nil {
					_, err = s.Settle(ctx, admission, store.Settlement{State: store.Captured, Outcome: store.Done})
				}
				if err != nil {
					failed <- err
					return
				}
				fmt.Println(admission.Execution.ID)
			}
		}()
	}
	return <-failed
}

// Charges that were only in the journal when the process was killed are in the tables after the next Open.
func TestJournalSurvivesKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	var captured []string
	for pending := false; !pending; { // repeat if the process was killed with an empty journal
		sqlstore.Empty.Copy(t, path)
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), envDatabase+"="+path, envLife+"=charges")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		captured = nil
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if captured = append(captured, lines.Text()); len(captured) == 700 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // fails, because the process was killed
		pending = len(rowsOf(t, path, "SELECT id FROM journal")) > 0
		if !pending {
			for _, file := range []string{path, path + "-wal", path + "-shm"} {
				_ = os.Remove(file)
			}
		}
	}
	s := openShared(t, path)
	if left := rowsOf(t, path, "SELECT id FROM journal"); len(left) > 0 {
		t.Errorf("%d records are left in the journal", len(left))
	}
	in := map[string]bool{}
	for _, id := range rowsOf(t, path, "SELECT id FROM executions WHERE state = 'captured'") {
		in[id] = true
	}
	for _, id := range captured {
		if !in[id] {
			t.Errorf("charge %s is lost", id)
		}
	}
	accounts, err := s.Accounts(t.Context(), store.Filter{})
	if err != nil || len(accounts) != 1 || accounts[0].Captured.Nano != int64(len(in)) || len(in) > len(captured)+2 {
		t.Errorf("%+v, %v; want %d captured, of which %d were printed", accounts, err, len(in), len(captured))
	}
	if err := s.CheckBalance(t.Context()); err != nil {
		t.Error(err)
	}
}

// rowsOf reads a column of a database over a separate connection.
func rowsOf(t *testing.T, path, query string) (out []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		out = append(out, "")
		if err := rows.Scan(&out[len(out)-1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAcknowledgedChangesSurviveKill(t *testing.T) {
	t.Parallel()
	crash(t, sqlstore.SQLiteLives, func(place string) string { return filepath.Join(place, "state.db") })
}

func TestPostgresChangesSurviveKill(t *testing.T) {
	t.Parallel()
	pgtest.Start(t)
	crash(t, sqlstore.PostgresLives, func(place string) string { return databaseAt(t, place, ownDatabase) })
}

// crash kills processes that work on a database.
func crash(t *testing.T, lives int, at func(place string) string) {
	t.Helper()
	open := func(t *testing.T, place string, now func() time.Time) storetest.Engine {
		t.Helper()
		s, err := sqlstore.Open(t.Context(), at(place), sqlstore.Options{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	storetest.Crash(t, open, lives, func(place, life string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), envDatabase+"="+at(place), envLife+"="+life)
		return cmd
	})
}
