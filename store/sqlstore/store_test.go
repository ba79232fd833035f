package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

func TestOpenRequiresNow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	if _, err := sqlstore.Open(t.Context(), path, sqlstore.Options{}); err == nil {
		t.Fatal("opened without a clock")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was created")
	}
}

func TestFilesAreAccessibleOnlyToOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b#c?d%20e")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "state.db"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v; want the database and its log", files, err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
			t.Errorf("%s: %v, %d bytes, %v; want 0600", f.Name(), info.Mode(), info.Size(), err)
		}
	}
}

// newerSchema makes a database require a later version of this program.
const newerSchema = "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1); UPDATE sequences SET n = 99999 WHERE name = 'needs'"

func TestADatabaseOfANewerVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	openStore(t, dir)
	path := filepath.Join(dir, "state.db")
	db := otherProcess(t, dir)
	if _, err := db.ExecContext(t.Context(), newerSchema); err != nil {
		t.Fatal(err)
	}
	_, err := sqlstore.Open(t.Context(), path, sqlstore.Options{Now: time.Now})
	if err == nil || !strings.Contains(err.Error(), "newer version") || !strings.Contains(err.Error(), path) {
		t.Fatalf("%v; want an error that names the file and the newer version", err)
	}
}

// otherProcess opens the database file over a separate connection.
func otherProcess(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func oneOf(most int64) store.BeginRequest {
	return store.BeginRequest{
		Execution:  store.Execution{Service: "s", AgentID: "a"},
		Limits:     []store.Reservation{{Principal: "a", Limit: limit.Limit{ID: "l", Rate: limit.Rate{Max: most, Period: limit.Lifetime}}}},
		Candidates: []store.Candidate{{}},
		Hold:       time.Minute,
	}
}

func TestAClosedStoreIsUnavailable(t *testing.T) {
	s := openStore(t, t.TempDir())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(t.Context(), oneOf(1)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Begin: %v, want %v", err, store.ErrUnavailable)
	}
	if _, err := s.Executions(t.Context(), store.Filter{}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Executions: %v, want %v", err, store.ErrUnavailable)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Ready: %v, want %v", err, store.ErrUnavailable)
	}
}

// If a write fails and the database rolls back, the call is denied and the next call works, whether the write belonged to this call or to
// an earlier one.
func TestAFailingFileIsUnavailableAndRecovers(t *testing.T) {
	for _, table := range []string{"journal", "counters"} {
		dir := t.TempDir()
		s := openStore(t, dir)
		if _, err := s.Begin(t.Context(), oneOf(2)); err != nil {
			t.Fatal(err)
		}
		db := otherProcess(t, dir)
		failure := "CREATE TRIGGER failure BEFORE INSERT ON " + table + " BEGIN SELECT RAISE(ROLLBACK, 'no'); END"
		if _, err := db.ExecContext(t.Context(), failure); err != nil {
			t.Fatal(err)
		}
		_, err := s.Begin(t.Context(), oneOf(2))
		if !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("%s: %v; want ErrUnavailable", table, err)
		}
		for _, word := range []string{"INSERT", table, "SELECT"} {
			if strings.Contains(err.Error(), word) {
				t.Errorf("%v: the error contains SQL", err)
			}
		}
		if _, err := db.ExecContext(t.Context(), "DROP TRIGGER failure"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Begin(t.Context(), oneOf(2)); err != nil {
			t.Fatalf("%s: after the failure: %v", table, err)
		}
		if _, ok := errors.AsType[*store.LimitError](errOf(s.Begin(t.Context(), oneOf(2)))); !ok {
			t.Fatalf("%s: the count of a failed call is wrong", table)
		}
	}
}

func errOf(_ store.Admission, err error) error { return err }

func TestACallWhoseContextEndedDoesNotRun(t *testing.T) {
	s := openStore(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Begin(ctx, oneOf(1)); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Fatalf("%v; want ErrUnavailable and the cause", err)
	}
	if _, err := s.Begin(t.Context(), oneOf(1)); err != nil {
		t.Fatalf("the call was counted: %v", err)
	}
}

func TestChangedReportsCommittedChangesOnly(t *testing.T) {
	s := openStore(t, t.TempDir())
	changed := func(ch <-chan struct{}) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	first, second := s.Changed(), s.Changed()
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	unknown := pat.AgentChange{Service: "s", ID: "nobody", Status: pat.AgentBlocked}
	if err := s.SetAgent(t.Context(), unknown); !errors.Is(err, pat.ErrNotFound) {
		t.Fatalf("got %v, want %v", err, pat.ErrNotFound)
	}
	if changed(first) {
		t.Fatal("got a signal without a change")
	}
	if err := s.Revoke(t.Context(),
		pat.Revocation{Service: "s", Kind: pat.RevokedToken, Subject: "jti", At: time.Now(), Until: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if !changed(first) || !changed(second) {
		t.Fatal("a waiter got no signal")
	}
	if changed(s.Changed()) {
		t.Fatal("got a signal before the next change")
	}
}
