package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// known creates the record of an agent.
func known(t *testing.T, s *sqlstore.Store, id pat.AgentID) {
	t.Helper()
	_, err := s.Agree(t.Context(), pat.NewAgreement{
		Agreement: pat.Agreement{
			ID: "of-" + pat.AgreementID(id), Service: "s", AgentID: id, KeyID: keys.ID(id), PolicyDigest: "d", Assurance: pat.Fresh,
		},
		Policy: pat.PolicyDocument{Service: "s", Digest: "d", Bytes: []byte("{}")},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// pay makes one charged call.
func pay(ctx context.Context, s *sqlstore.Store, id string, end store.State) error {
	admission, err := s.Begin(ctx, store.BeginRequest{
		Execution:  store.Execution{ID: id, Service: "s", AgentID: "a", Intent: "i", IdempotencyKey: id},
		Limits:     []store.Reservation{{Principal: "a", Limit: limit.Limit{ID: "l", Rate: limit.Rate{Max: limit.MaxCount, Period: limit.Hour}}}},
		Candidates: []store.Candidate{{Charge: money.Amount{Nano: 3, Currency: "USD"}}},
		Billing:    store.Billing{Credit: money.Amount{Nano: money.Unit, Currency: "USD"}},
		Hold:       time.Minute, KeyFor: 24 * time.Hour,
	})
	if err != nil || end == store.Held {
		return err
	}
	outcome := store.Done
	if end == store.Unresolved {
		outcome = store.Unknown
	}
	_, err = s.Settle(ctx, admission, store.Settlement{State: end, Outcome: outcome, Answer: &store.Answer{}})
	return err
}

// A copy of a busy database is complete and balances, and contains every change that was acknowledged before the copy began.
func TestBackupsUnderLoadBalance(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	known(t, s, "a")
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				end := []store.State{store.Captured, store.Released, store.Unresolved, store.Held}[i%4]
				if err := pay(ctx, s, fmt.Sprintf("%d-%08d", g, i), end); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range sqlstore.Backups {
		id := fmt.Sprintf("before-%d", i)
		if err := pay(t.Context(), s, id, store.Captured); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "backup.db")
		if err := sqlstore.Backup(t.Context(), filepath.Join(dir, "state.db"), to); err != nil {
			t.Fatal(err)
		}
		found, err := sqlstore.Inspect(t.Context(), to)
		if err != nil || found.Entries < 2 || found.Executions == 0 || found.Latest.IsZero() {
			t.Fatalf("got %+v, %v", found, err)
		}
		restored, err := sqlstore.Restore(t.Context(), to, store.DefaultRestoredLimits(), sqlstore.Options{Now: time.Now})
		if err != nil || restored != found {
			t.Fatalf("%+v, %v; want %+v", restored, err, found)
		}
		for _, beside := range []string{"-wal", "-shm", "-journal"} {
			if _, err := os.Stat(to + beside); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is left: %v, want %v", beside, err, fs.ErrNotExist)
			}
		}
		again, err := sqlstore.Open(t.Context(), to, sqlstore.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		if e, err := again.Execution(t.Context(), "s", id); err != nil || e.State != store.Captured {
			t.Errorf("got %+v, %v; want no error and State %v", e, err, store.Captured)
		}
		err = pay(t.Context(), again, "after", store.Held)
		if _, ok := errors.AsType[*store.LimitError](err); !ok {
			t.Errorf("a window of a restored state: %v", err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
}

// Contents counts the records of a relay too.
func TestBackupCountsRelayRecords(t *testing.T) {
	t.Parallel()
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			place := p.at(t)
			_, r := relayWithData(t, place, 5, 30)
			for _, id := range []string{"a", "b"} {
				if _, err := r.AddBlob(t.Context(), mail.Blob{ID: id, Owner: numbered(1)}, mail.BlobBounds{Count: 9, Bytes: 9, All: 9}); err != nil {
					t.Fatal(err)
				}
			}
			found, err := sqlstore.Verify(t.Context(), place)
			if err != nil || found.RelayAgents != 5 || found.RelayMessages != 30 || found.RelayBlobs != 2 || found.Agents != 0 {
				t.Fatalf("got %+v, %v; want no error, RelayAgents 5, RelayMessages 30, RelayBlobs 2 and Agents 0", found, err)
			}
			if p.name != "sqlite" {
				return
			}
			to := filepath.Join(t.TempDir(), "backup.db")
			if err := sqlstore.Backup(t.Context(), place, to); err != nil {
				t.Fatal(err)
			}
			if copied, err := sqlstore.Inspect(t.Context(), to); err != nil || copied != found {
				t.Fatalf("%+v, %v; want %+v", copied, err, found)
			}
		})
	}
}

func TestCanceledBackupFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openStore(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sqlstore.Backup(ctx, filepath.Join(dir, "state.db"), filepath.Join(dir, "copy.db")); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want %v", err, context.Canceled)
	}
	full := filepath.Join(dir, "full.db")
	if err := os.WriteFile(full, []byte("something"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sqlstore.Backup(t.Context(), filepath.Join(dir, "state.db"), full); err == nil {
		t.Fatal("the backup replaced another file")
	}
	if text, err := os.ReadFile(full); err != nil || string(text) != "something" {
		t.Fatalf("got %q, %v", text, err)
	}
	if err := sqlstore.Backup(t.Context(), filepath.Join(dir, "none.db"), filepath.Join(dir, "copy.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v, want %v", err, fs.ErrNotExist)
	}
}

func TestADamagedDatabaseIsRejected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	for i := range 200 {
		if err := pay(t.Context(), s, fmt.Sprintf("%08d", i), store.Captured); err != nil {
			t.Fatal(err)
		}
	}
	whole := filepath.Join(dir, "whole.db")
	if err := sqlstore.Backup(t.Context(), filepath.Join(dir, "state.db"), whole); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	spoil := func(change func(*sql.DB) error) string {
		path := filepath.Join(t.TempDir(), "spoilt.db")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(change(db), db.Close()); err != nil {
			t.Fatal(err)
		}
		return path
	}
	statement := func(q string) func(*sql.DB) error {
		return func(db *sql.DB) error { _, err := db.ExecContext(t.Context(), q); return err }
	}
	file := func(data []byte) string {
		path := filepath.Join(t.TempDir(), "file.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	holed := append([]byte(nil), text...)
	for i := len(holed) / 2; i < len(holed)/2+20_000 && i < len(holed); i++ {
		holed[i] = 0xff
	}
	for name, c := range map[string]struct {
		path string
		want error
	}{
		"empty":              {file(nil), sqlstore.ErrNotOurs},
		"text":               {file([]byte(strings.Repeat("no database at all ", 1000))), sqlstore.ErrNotOurs},
		"another program's":  {spoil(statement("DROP TABLE ledger")), sqlstore.ErrNotOurs},
		"cut off":            {file(text[:len(text)/2]), sqlstore.ErrDamaged},
		"overwritten":        {file(holed), sqlstore.ErrDamaged},
		"a charge is gone":   {spoil(statement("DELETE FROM ledger WHERE seq = 7")), store.ErrUnbalanced},
		"an account changed": {spoil(statement("UPDATE accounts SET captured = captured + 1")), store.ErrUnbalanced},
		"a hold without a call": {spoil(func(db *sql.DB) error {
			return statement(`UPDATE accounts SET held = 5; INSERT INTO ledger (seq, at, service, agent_id, execution_id, intent, rule, amount, ` +
				`currency, from_state, to_state, actor)
				VALUES (9999, 1, 's', 'a', 'x', 'i', 'r', 5, 'USD', '', 'held', 'agent')`)(db)
		}), store.ErrUnbalanced},
		"a reference without a target": {spoil(statement(`INSERT INTO agent_keys (service, key_id, agent_id, added_at, position) VALUES ('s', ` +
			`'k', 'nobody', 1, 0)`)), sqlstore.ErrDamaged},
		"a directory": {t.TempDir(), sqlstore.ErrNotOurs},
	} {
		if found, err := sqlstore.Inspect(t.Context(), c.path); !errors.Is(err, c.want) || found != (sqlstore.Contents{}) {
			t.Errorf("%s: %+v, %v; want %v", name, found, err, c.want)
		}
	}
	newer := spoil(statement(newerSchema))
	if _, err := sqlstore.Inspect(t.Context(), newer); err == nil || !strings.Contains(err.Error(), "newer version of uimgate") {
		t.Errorf("a newer schema: %v, want an error that contains %q", err, "newer version of uimgate")
	}
	if _, err := sqlstore.Inspect(t.Context(), whole); err != nil {
		t.Error(err)
	}
}

func TestFoldRefusesADatabaseInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state.db")
	s, err := sqlstore.Open(t.Context(), path, sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := pay(t.Context(), s, "1", store.Captured); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM ledger").Scan(new(int)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := sqlstore.Fold(t.Context(), path); !errors.Is(err, sqlstore.ErrInUse) {
		t.Errorf("%v; want ErrInUse", err)
	}
	if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := sqlstore.Fold(t.Context(), path); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
}
