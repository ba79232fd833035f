package soak

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A backup is a copy of the state that was made between two times.
type backup struct {
	path     string
	from, to time.Duration
}

// A gateway on SQLite is backed up at random times under load, and sometimes killed. Each backup is complete, its ledger balances, and it
// contains everything that was reported to agents before it began. After a restore, the agreements and the ledger are those of the backup,
// earlier PATs have ended, and all windows of the policy's limits are exhausted. Agents use all doors, and agree again through them.
func TestBackupsUnderLoad(t *testing.T) {
	t.Parallel()
	w := sqliteWorld(t)
	w.invite()
	var backups []backup
	least := doorAgentsFloor()
	least["kills"] = 1
	w.runAndJudge(least, func() {
		for n := 0; pause(w.over, random(300*time.Millisecond, 900*time.Millisecond)); n++ {
			b := backup{path: filepath.Join(w.gateways[0].dir, fmt.Sprintf("backup-%d.db", n)), from: w.clock.now()}
			err := sqlstore.Backup(t.Context(), w.gateways[0].statePath(), b.path)
			b.to = w.clock.now()
			if err != nil {
				t.Errorf("backup %d: %v", n, err)
				continue
			}
			backups = append(backups, b)
			if n%5 == 2 {
				w.killOnce(w.gateways[0])
			}
		}
	})
	if len(backups) == 0 {
		t.Fatal("no backup was made")
	}
	logs := w.logs()
	for _, b := range backups {
		if _, err := sqlstore.Inspect(t.Context(), b.path); err != nil {
			t.Errorf("%s: %v", b.path, err)
			continue
		}
		for _, found := range b.judge(t.Context(), w, logs) {
			t.Errorf("%s: %s", filepath.Base(b.path), found)
		}
	}
	t.Logf("%d backups", len(backups))
	w.restored(pick(backups))
}

// judge compares the contents of a backup with the outcomes that were reported to agents before it began.
func (b backup) judge(ctx context.Context, w *world, logs *evidence) []string {
	e, err := b.read(ctx, w)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	breach := func(format string, args ...any) {
		if len(found) < maxBreaches {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	e.judgeLedger(breach)
	e.judgeCredit(breach)
	states := map[string]store.State{}
	for _, x := range e.Executions {
		states[x.ID] = x.State
		if x.BeganAt.After(e.Began.Add(b.to + clockError)) {
			breach("execution %s began after the backup was made", x.ID)
		}
	}
	for _, a := range logs.Attempts {
		if a.Charge != "" && a.Charge != "pending" && a.Answered < b.from && string(states[a.Execution]) != a.Charge {
			breach("%s was reported as %s before the backup; in the backup it is %q", a.Ref, a.Charge, states[a.Execution])
		}
	}
	return found
}

// read reads a copy of the backup, because opening the backup may migrate it.
func (b backup) read(ctx context.Context, w *world) (*evidence, error) {
	path := filepath.Join(w.t.TempDir(), "copy.db")
	if err := copyFile(b.path, path); err != nil {
		return nil, err
	}
	s, err := sqlstore.Open(ctx, path, sqlstore.Options{Now: time.Now})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	e := &evidence{Began: w.clock.began, Unapproved: w.unapproved}
	return e, e.readStore(ctx, s)
}

// restored replaces the state with a backup, starts the gateway on it, and checks the responses that agents get.
func (w *world) restored(b backup) {
	t, g, ctx := w.t, w.gateways[0], w.t.Context()
	t.Helper()
	before, err := b.read(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	for _, beside := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(g.statePath()+beside, g.statePath()+".aside"+beside); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if err := copyFile(b.path, g.statePath()); err != nil {
		t.Fatal(err)
	}
	restored := w.clock.now()
	if _, err := sqlstore.Restore(ctx, g.statePath(), store.DefaultRestoredLimits(), sqlstore.Options{Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	after, err := backup{path: g.statePath()}.read(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(after.Ledger, before.Ledger) || len(after.Executions) != len(before.Executions) ||
		!slices.Equal(after.Accounts, before.Accounts) {
		t.Errorf("%d entries, %d executions, %d accounts after the restore; in the backup %d, %d, %d",
			len(after.Ledger), len(after.Executions), len(after.Accounts), len(before.Ledger), len(before.Executions), len(before.Accounts))
	}
	w.startAll()
	for _, a := range w.known {
		old := (call{agent: a, token: a.token(), intent: details, ref: "old-" + a.id}).at(g)
		if old.Status != http.StatusUnauthorized {
			t.Errorf("a PAT of %s from before the restore: %+v; want Status %v", a.id, old, http.StatusUnauthorized)
		}
		if err := w.retry(a.agree); err != nil {
			t.Fatalf("%s agrees again: %v", a.id, err)
		}
		newest := a.tokens[len(a.tokens)-1]
		for _, window := range terms() {
			if window.Name != browse && window.Name != pulse {
				continue
			}
			got := (call{agent: a, token: newest, intent: window.Name, ref: fmt.Sprintf("anew-%s-%s", a.id, window.Name)}).at(g)
			ended := got.Answered > restored+window.Period // on a slow machine, a window of one second may have ended
			if !ended && (got.Reason != "RESTORED_LIMITS" || got.RetryAfter == "") {
				t.Errorf("%s of %s in a window whose count is unknown: %+v", window.Name, a.id, got)
			}
		}
		got := (call{agent: a, token: newest, intent: details, ref: "anew." + a.id + "." + string(effectDone)}).at(g)
		if got.Status != http.StatusOK {
			t.Errorf("the limit of the PAT must still admit calls after a restore: %+v, want Status %v", got, http.StatusOK)
		}
	}
	if err := g.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s, err := w.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	served := &evidence{}
	if err := served.readStore(ctx, s); err != nil {
		t.Fatal(err)
	}
	if len(served.Executions) != len(before.Executions) || len(served.Ledger) < len(before.Ledger) {
		t.Fatalf("the gateway has %d entries and %d executions; in the backup %d and %d",
			len(served.Ledger), len(served.Executions), len(before.Ledger), len(before.Executions))
	}
	// readStore lists the newest first. The gateway ends the calls that the backup has as interrupted.
	added := len(served.Ledger) - len(before.Ledger)
	if !slices.Equal(served.Ledger[added:], before.Ledger) {
		t.Error("the gateway has changed entries of the backup")
	}
	for _, e := range served.Ledger[:added] {
		if !open(e.From) {
			t.Errorf("after the restore, the gateway has added %+v", e)
		}
	}
	agreements, err := s.Agreements(ctx, store.AgreementFilter{Service: service, AgentID: pat.AgentID(w.known[0].id), Limit: 1000})
	if err != nil || len(agreements) < 2 {
		t.Errorf("%d agreements of %s, %v; want those of the backup and the new one", len(agreements), w.known[0].id, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w.startAll()
	w.doorAgentsRestored(g)
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}
