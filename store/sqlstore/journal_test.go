package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
	"github.com/uimgate/uimgate/store/sqlstore/journal"
)

// beside runs a statement over a separate connection.
func beside(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.ExecContext(t.Context(), statement)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func rowsIn(t *testing.T, path, what string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err == nil {
		err = db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+what).Scan(&n)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}

// killedProcess creates a database whose process was killed. One call is captured in the tables. A second began in the tables and ended in
// the journal. A third is only in the journal, unresolved.
func killedProcess(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "state.db")
	Empty.Copy(t, path)
	in := &world{now: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)}
	p := begin(t, path, in, true, func() {})
	var admissions [3]store.Admission
	call := func(i int, to store.State) {
		p.together(t.Context(), func() {
			var err error
			if to == "" {
				r := journaledCall(i)
				admissions[i], err = p.s.Begin(t.Context(), r)
			} else {
				outcome := map[store.State]store.Outcome{store.Captured: store.Done, store.Unresolved: store.Unknown}[to]
				_, err = p.s.Settle(t.Context(), admissions[i], store.Settlement{State: to, Outcome: outcome})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	call(0, "")
	call(1, "")
	call(0, store.Captured)
	p.step.CatchUp(t.Context())
	in.pass(time.Second)
	call(1, store.Captured)
	call(2, "")
	call(2, store.Unresolved)
	p.kill(t)
	if n, m := rowsIn(t, path, "journal"), rowsIn(t, path, "executions"); n != 3 || m != 2 {
		t.Fatalf("%d records in the journal, %d executions", n, m)
	}
	return path
}

// all is the contents of the database that killedProcess creates.
var all = Contents{Executions: 3, Unresolved: 1, Entries: 6, Latest: time.Date(2026, 11, 22, 10, 0, 1, 0, time.UTC), Accounts: 1}

func same(c Contents) bool {
	c.Schema = 0
	return c == all
}

// Opening a database writes the journal into the tables. Reading it without opening it counts the changes in the journal.
func TestOpenWritesJournalIntoTables(t *testing.T) {
	t.Parallel()
	path := killedProcess(t)
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := Backup(t.Context(), path, copied); err != nil {
		t.Fatal(err)
	}
	if found, err := Verify(t.Context(), path); err != nil || !same(found) {
		t.Errorf("verified: %+v, %v", found, err)
	}
	if found, err := Inspect(t.Context(), copied); err != nil || !same(found) {
		t.Errorf("the copy: %+v, %v", found, err)
	}
	if found, err := Restore(t.Context(), copied, store.DefaultRestoredLimits(), Options{Now: time.Now}); err != nil || !same(found) {
		t.Errorf("restored: %+v, %v", found, err)
	}
	s := openTest(t, path, time.Now, engine.SQLite())
	for _, path := range []string{path, copied} {
		if n, m, k := rowsIn(t, path, "journal"), rowsIn(t, path, "executions"), rowsIn(t, path, "ledger"); n != 0 || m != 3 || k != 6 {
			t.Errorf("%d records in the journal, %d executions, %d entries", n, m, k)
		}
		if n := rowsIn(t, path, "executions WHERE state = 'captured' AND settled_at = 1795341601000000000"); n != 1 {
			t.Errorf("%d executions have the state in the journal", n)
		}
	}
	if err := s.CheckBalance(t.Context()); err != nil {
		t.Error(err)
	}
}

// A call that becomes unresolved changes no account. If the journal has no other change of the agent, the account in the table applies.
func TestAnUnresolvedCallInTheJournalBalances(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	Empty.Copy(t, path)
	p := begin(t, path, &world{now: time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)}, true, func() {})
	var admission store.Admission
	p.together(t.Context(), func() {
		var err error
		if admission, err = p.s.Begin(t.Context(), journaledCall(0)); err != nil {
			t.Error(err)
		}
	})
	p.step.CatchUp(t.Context())
	p.together(t.Context(), func() {
		if _, err := p.s.Settle(t.Context(), admission, store.Settlement{State: store.Unresolved, Outcome: store.Unknown}); err != nil {
			t.Error(err)
		}
	})
	p.kill(t)
	if n := rowsIn(t, path, "journal"); n != 1 {
		t.Fatalf("got %d records in the journal, want 1", n)
	}
	if found, err := Verify(t.Context(), path); err != nil || found.Unresolved != 1 || found.Entries != 2 {
		t.Errorf("verified: %+v, %v; want no error, Unresolved 1 and Entries 2", found, err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := Backup(t.Context(), path, copied); err != nil {
		t.Fatal(err)
	}
	if _, err := Inspect(t.Context(), copied); err != nil {
		t.Error(err)
	}
}

// Later versions can write a journal of the first version into the tables.
func TestTheJournalOfAnEarlierVersionIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := AtVersion(t, path, schema.Journal)
	for _, record := range []string{ // one call of an unapproved agent begins and is captured, and another begins
		"012C6F28DD8080DAE789EBAAEA3101010630303030303100017300016100016900000200035553440400016704040480E0BA84BF0301010200016C00086C69666574" +
			"696D650000000101010102050002000101010502008080DAE789EBAAEA31010106",
		"01901FCA4C8080DAE789EBAAEA310102063030303030310001730001610001690000020003555344000468656C64000863617074757265640004646F6E6501000000" +
			"01010205000002010000",
		"010288D0568080DAE789EBAAEA3101010630303030303200017300016100016900000200035553440400016704040480E0BA84BF0301010200016C00086C69666574" +
			"696D650000000102010102050002020101010504008080DAE789EBAAEA3100",
	} {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO journal (effects) VALUES (unhex(?))", record); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, time.Now, engine.SQLite())
	if n := rowsIn(t, path, "journal"); n != 0 {
		t.Errorf("%d records are left", n)
	}
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	charged := func(id string) store.Execution {
		return store.Execution{
			ID: id, Service: "s", AgentID: "a", Intent: "i", AgreementID: "g", Charge: money.Amount{Nano: 1, Currency: "USD"}, State: store.Held,
			BeganAt: at, Deadline: at.Add(time.Minute),
		}
	}
	first := charged("000001")
	first.State, first.Outcome, first.SettledAt = store.Captured, store.Done, at
	for _, want := range []store.Execution{first, charged("000002")} {
		if got, err := s.Execution(t.Context(), "s", want.ID); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if n, m := rowsIn(t, path, "counters WHERE slot = 0 AND counts <> x''"), rowsIn(t, path, "pools WHERE owed = 2"); n != 1 || m != 1 {
		t.Errorf("%d counters, %d pools", n, m)
	}
	if err := s.CheckBalance(t.Context()); err != nil {
		t.Error(err)
	}
}

// A damaged journal is reported, and not written into the tables.
func TestDamagedJournalIsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do         string
		open, look error // errors of Open, and of Verify and Inspect
	}{
		"an extra byte": {"UPDATE journal SET effects = effects || x'00' WHERE id = 2", ErrDamaged, ErrDamaged},
		"nothing":       {"UPDATE journal SET effects = x'' WHERE id = 2", ErrDamaged, ErrDamaged},
		"of another version": {
			"UPDATE journal SET effects = x'02' || substr(effects, 2) WHERE id = 1", journal.ErrVersion, journal.ErrVersion,
		},
		"a record is missing":      {"DELETE FROM journal WHERE id = 2", ErrDamaged, ErrDamaged},
		"a call began twice":       {"UPDATE executions SET id = '000002' WHERE id = '000000'", ErrDamaged, ErrDamaged},
		"an ended call is missing": {"UPDATE executions SET id = 'x' WHERE id = '000001'", ErrDamaged, ErrDamaged},
		"a call ended before":      {"UPDATE executions SET state = 'unresolved' WHERE id = '000001'", ErrDamaged, ErrDamaged},
		"an account was changed":   {"UPDATE accounts SET captured = captured + 1", nil, store.ErrUnbalanced},
		"unchanged":                {"SELECT 1", nil, nil},
		"an empty journal":         {"DELETE FROM journal", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := killedProcess(t)
			beside(t, path, c.do)
			if _, err := Verify(t.Context(), path); !errors.Is(err, c.look) {
				t.Errorf("verified: %v; want %v", err, c.look)
			}
			copied := filepath.Join(t.TempDir(), "copy.db")
			if err := Backup(t.Context(), path, copied); err != nil {
				t.Fatal(err)
			}
			if _, err := Inspect(t.Context(), copied); !errors.Is(err, c.look) {
				t.Errorf("the copy: %v; want %v", err, c.look)
			}
			before := rowsIn(t, path, "journal")
			s, err := Open(t.Context(), path, Options{Now: time.Now})
			if err == nil {
				err = s.Close()
			} else if !strings.Contains(err.Error(), path) || errors.Is(err, ErrDamaged) != strings.Contains(err.Error(), "uimgate restore") ||
				errors.Is(err, journal.ErrVersion) != strings.Contains(err.Error(), "shut it down properly") {
				t.Errorf("%v: the error does not suggest the right action", err)
			} else if n := rowsIn(t, path, "journal"); n != before {
				t.Errorf("%d of %d records are left", n, before)
			}
			if !errors.Is(err, c.open) {
				t.Errorf("opened: %v; want %v", err, c.open)
			}
		})
	}
}

// If the tables were changed by SQL while charges were in the journal, operations that need the tables fail, and so does Ready.
func TestNotReadyIfJournalContradictsTables(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	Empty.Copy(t, path)
	p := begin(t, path, &world{now: time.Now()}, true, func() {})
	defer p.kill(t)
	ready := func() (err error) {
		p.together(t.Context(), func() { err = p.s.Ready(t.Context()) })
		return err
	}
	for i := range 2 {
		p.step.CatchUp(t.Context())
		r := journaledCall(i)
		p.together(t.Context(), func() {
			if _, err := p.s.Begin(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
	beside(t, path, "UPDATE executions SET id = '000001'")
	if err := ready(); !errors.Is(err, engine.ErrMisfit) || !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "undo") {
		t.Errorf("ready: %v; want %v, %v and an error that contains %q", err, engine.ErrMisfit, store.ErrUnavailable, "undo")
	}
	if n := rowsIn(t, path, "journal"); n != 1 {
		t.Errorf("got %d records in the journal, want 1", n)
	}
	beside(t, path, "UPDATE executions SET id = '000000'")
	if err := ready(); err != nil {
		t.Errorf("after the change was undone: %v", err)
	}
	if n, m := rowsIn(t, path, "journal"), rowsIn(t, path, "executions"); n != 0 || m != 2 {
		t.Errorf("%d records in the journal, %d executions", n, m)
	}
}

// The journal is empty some time after the last call, and after Close.
func TestTheJournalIsEmptyAtRest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(t.Context(), path, Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	call := func(i int) {
		r := journaledCall(i)
		if _, err := s.Begin(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	call(1)
	for rowsIn(t, path, "journal") > 0 || rowsIn(t, path, "executions") == 0 {
		if t.Context().Err() != nil {
			t.Fatal("the journal does not become empty")
		}
	}
	call(2)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, m := rowsIn(t, path, "journal"), rowsIn(t, path, "executions"); n != 0 || m != 2 {
		t.Errorf("closed with %d records in the journal and %d executions", n, m)
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("the write-ahead log still exists")
	}
}

// The number of pending changes is bounded. A change that does not fit in a record is written into the tables at once.
func TestPendingChangesAreBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	Empty.Copy(t, path)
	p := begin(t, path, &world{now: time.Now()}, true, func() {})
	defer p.kill(t)
	most := 0
	for i := range journal.MostPending + 10 {
		r := journaledCall(i)
		r.Execution.Intent = "i"
		p.together(t.Context(), func() {
			if _, err := p.s.Begin(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
		rows, _, _ := p.journal.Held()
		most = max(most, rows)
	}
	if most > journal.MostPending+10 || most < journal.MostPending/2 {
		t.Errorf("%d rows were pending", most)
	}
	r := journaledCall(1 << 20)
	r.Execution.Intent = strings.Repeat("x", journal.MaxRecord)
	p.together(t.Context(), func() {
		if _, err := p.s.Begin(t.Context(), r); err != nil {
			t.Error(err)
		}
	})
	if n := rowsIn(t, path, fmt.Sprintf("executions WHERE id = '%s'", r.Execution.ID)); n != 1 {
		t.Error("a large call is not in its table")
	}
}
