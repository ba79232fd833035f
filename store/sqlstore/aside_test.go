package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

func revocation(kind pat.RevocationKind, subject string, at time.Time) pat.Revocation {
	return pat.Revocation{Service: "s", Kind: kind, Subject: subject, At: at, Until: at.Add(time.Hour)}
}

// On a full disk, the journal cannot be written into the tables. Operations that do not need these tables still work.
func TestFullDiskStillRevokesAndBlocks(t *testing.T) {
	t.Parallel()
	for _, journals := range []bool{false, true} {
		t.Run(fmt.Sprintf("journal %v", journals), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "state.db")
			s := openAs(t, dir, "max_page_count(180)", journals)
			started := 0
			for i, denied := 0, 0; denied < 20; i++ {
				r := journaledCall(i)
				switch _, err := s.Begin(t.Context(), r); {
				case err == nil:
					started++
				case errors.Is(err, store.ErrUnavailable):
					denied++
				default:
					t.Fatal(err)
				}
			}
			if n := rowsIn(t, path, "journal"); journals != (n > 0) {
				t.Fatalf("%d records in the journal", n)
			}
			if _, err := s.Executions(t.Context(), store.Filter{Limit: 1}); journals != errors.Is(err, store.ErrUnavailable) {
				t.Errorf("listing calls: %v", err)
			}
			now := time.Now()
			for kind, subject := range map[pat.RevocationKind]string{
				pat.RevokedToken: "t", pat.RevokedAgreement: "g", pat.RevokedAgent: "a", pat.RevokedPolicy: "p",
			} {
				if err := s.Revoke(t.Context(), revocation(kind, subject, now)); err != nil {
					t.Errorf("revoking %s: %v", kind, err)
				}
			}
			if err := s.SetAgent(t.Context(), pat.AgentChange{Service: "s", ID: "a", Status: pat.AgentBlocked, Reason: "again"}); err != nil {
				t.Errorf("blocking: %v", err)
			}
			if a, err := s.Agent(t.Context(), "s", "a"); err != nil || a.Status != pat.AgentBlocked {
				t.Errorf("got %+v, %v; want no error and Status %v", a, err, pat.AgentBlocked)
			}
			if err := s.Ready(t.Context()); err != nil {
				t.Errorf("ready: %v", err)
			}
			if _, _, err := s.Changes(t.Context(), 0); err != nil {
				t.Errorf("the changes for other processes: %v", err)
			}
			_ = s.Close()
			s = openAs(t, dir, "", journals)
			found, err := s.Executions(t.Context(), store.Filter{Limit: 1000})
			if err != nil || len(found) != started {
				t.Errorf("%d calls, %v; want %d", len(found), err, started)
			}
		})
	}
}

// An operation of Aside changes neither the journal nor the writer's cached state of it.
func TestAsideLeavesChangesPending(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	Empty.Copy(t, path)
	p := begin(t, path, &world{now: time.Now()}, true, func() {})
	defer p.kill(t)
	calls := 0
	call := func() {
		t.Helper()
		calls++
		r := journaledCall(calls)
		p.together(t.Context(), func() {
			got, err := p.s.Begin(t.Context(), r)
			if err != nil || got.Standing[0].Left != 1_000_000-int64(calls) {
				t.Errorf("call %d: %+v, %v; want no error and [0].Left %v", calls, got.Standing, err, 1_000_000-int64(calls))
			}
		})
	}
	revoke := func(want error) {
		t.Helper()
		p.together(t.Context(), func() {
			err := p.s.Revoke(t.Context(), revocation(pat.RevokedToken, fmt.Sprint(calls), time.Now()))
			if !errors.Is(err, want) {
				t.Errorf("%v; want %v", err, want)
			}
		})
	}
	pending := func(records int, known bool) {
		t.Helper()
		_, held, sure := p.journal.Held()
		if n := rowsIn(t, path, "journal"); n != records || sure != known || known && held != records {
			t.Errorf("%d records; known: %v, %d", n, sure, held)
		}
	}
	call() // reads the journal
	call()
	pending(2, true)
	revoke(nil)
	pending(2, true)
	call()
	pending(3, true)
	p.fault = lostAfter
	revoke(errFault)
	pending(3, false)
	revoke(nil)
	pending(3, false) // the journal was not read
	call()            // reads the journal and writes it into the tables
	pending(1, true)
	beside(t, path, "UPDATE sequences SET n = n + 1 WHERE name = 'changes'")
	revoke(nil)
	pending(1, false)
	call()
	if got := p.dump(t, path); got["revocations"] == "" {
		t.Error("nothing is revoked")
	}
	if n := rowsIn(t, path, "executions"); n != calls {
		t.Errorf("%d calls, want %d", n, calls)
	}
}

// An operation of Aside cannot use the tables that calls change.
func TestAsideRejectsTablesOfCalls(t *testing.T) {
	t.Parallel()
	s := openWithPragma(t, t.TempDir(), "")
	for name, run := range map[string]func(context.Context, *engine.Tx) error{
		"a write": func(ctx context.Context, t *engine.Tx) error {
			_, err := t.Exec(ctx, "DELETE FROM counters")
			return err
		},
		"a row": func(ctx context.Context, t *engine.Tx) error {
			_, err := t.Row(ctx, "SELECT used_at FROM agreements", nil, new(int64))
			return err
		},
		"rows": func(ctx context.Context, t *engine.Tx) error {
			return t.Rows(ctx, "SELECT seq FROM ledger", nil, func(engine.Scan) error { return nil })
		},
		"several": func(ctx context.Context, t *engine.Tx) error {
			return t.Send(ctx, []engine.Command{{Query: "DELETE FROM accounts"}})
		},
		"last statements": func(_ context.Context, t *engine.Tx) error {
			t.Last([]engine.Command{{Query: "DELETE FROM pools"}})
			return nil
		},
	} {
		if err := s.db.Aside(t.Context(), run); !errors.Is(err, engine.ErrAside) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: got %v; want %v and %v", name, err, engine.ErrAside, store.ErrUnavailable)
		}
	}
}

// CallTables names exactly the tables and columns that the journal is written into, so statements that read them wait for that.
func TestCallTablesAreComplete(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	Empty.Copy(t, path)
	p := begin(t, path, &world{now: time.Now()}, true, func() {})
	defer p.kill(t)
	seen := Statements(p.s)
	for i := range 2 {
		r := journaledCall(i)
		r.Execution.AgreementID, r.Billing.Unapproved = "g", true
		r.Execution.Evidence = &store.Evidence{KeyID: "k", Text: &store.EvidenceText{Asked: []byte("{}")}}
		var admission store.Admission
		var err error
		p.together(t.Context(), func() { admission, err = p.s.Begin(t.Context(), r) })
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 { // the end of the first call changes a row in the table
			p.step.CatchUp(t.Context())
		}
		p.together(t.Context(), func() {
			_, err = p.s.Settle(t.Context(), admission, store.Settlement{State: store.Captured, Outcome: store.Done})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	p.step.CatchUp(t.Context())
	written := map[string]bool{}
	for _, query := range seen() {
		verb, of, _ := strings.Cut(query, " ")
		if !slices.Contains([]string{"INSERT", "UPDATE", "DELETE"}, verb) ||
			strings.Contains(of, "journal") || strings.HasPrefix(of, "sequences") || strings.HasPrefix(of, "INTO sequences") {
			continue
		}
		if !engine.Touches(query) {
			t.Errorf("CallTables does not match this statement: %s", query)
		}
		for _, what := range engine.CallTables {
			written[what] = written[what] || strings.Contains(query, what)
		}
	}
	for _, what := range engine.CallTables {
		if !written[what] {
			t.Errorf("%s is in CallTables but was not written", what)
		}
	}
}
