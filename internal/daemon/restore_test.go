package daemon_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/daemon"
	"github.com/uimgate/uimgate/store"
)

// After a restore, agents that the backup knows wait for their limits, and all others are served at once. If the operator chooses another
// mode, all are served.
func TestARestoredGatewayServes(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	known, later := g.newAgent("known").agree(), g.newAgent("later")
	query := map[string]any{"query": "lamp"}
	searches := func(a *agent) answer { return a.execute(search, query, nil) }
	if got := searches(known); got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	cfg, problems := g.load()
	if cfg == nil {
		t.Fatal(problems)
	}
	quiet := daemon.Progress{Copied: func(int64, int64) {}, Checking: func(time.Duration) {}}
	keeper := daemon.Keeper{Config: cfg, Now: time.Now, Progress: quiet, Limits: store.DefaultRestoredLimits()}
	backup := filepath.Join(t.TempDir(), "backup.db")
	if _, err := keeper.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	later.agree()
	if got := searches(later); got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	g.stop()
	if _, err := keeper.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	again := func() *gate { return startGate(t, setup{dir: g.dir}) }
	restored := again()
	got := searches(known.at(restored).agree())
	if got.status != http.StatusTooManyRequests || got.reason(t) != "RESTORED_LIMITS" || got.header.Get("Retry-After") == "" ||
		!strings.Contains(string(got.body), `"until":"`) {
		t.Errorf("an agent of the backup: %d %v %s", got.status, got.header, got.body)
	}
	for range 3 {
		if got := searches(later.at(restored).agree()); got.status != http.StatusOK {
			t.Errorf("an agent that the backup lacks: %d %s; want %d", got.status, got.body, http.StatusOK)
		}
	}
	if got := known.at(restored).agree().execute(details, map[string]any{"id": "p"}, nil); got.status != http.StatusOK {
		t.Errorf("an intent without a limit: %d %s; want %d", got.status, got.body, http.StatusOK)
	}
	if held := restored.status(t).HeldLimits; held == nil || held.Restored == nil || len(held.Restored.Periods) < 4 {
		t.Errorf("the status lacks the limits that are held back: %+v", held)
	}
	restored.stop()

	keeper.Limits = store.RestoredLimits{Mode: store.RestoreFresh}
	if _, err := keeper.AfterExternal(t.Context()); err != nil {
		t.Fatal(err)
	}
	fresh := again()
	for _, a := range []*agent{known, later} {
		if got := searches(a.at(fresh).agree()); got.status != http.StatusOK {
			t.Errorf("%s after --limits fresh: %d %s; want %d", a.id, got.status, got.body, http.StatusOK)
		}
	}
	if held := fresh.status(t).HeldLimits; held != nil {
		t.Errorf("held back after --limits fresh: %+v; want none", held)
	}
}
