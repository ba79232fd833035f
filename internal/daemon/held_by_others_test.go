package daemon_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/daemon"
)

// If an operator reserves an agent id that another key holds, check, a reload, the start and the status report it.
func TestReservedIDHeldByAnotherKey(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	holder, party := g.newAgent("agent-1").agree(), g.newAgent("agent-1")
	const want = "services[0]: service default reserves the agent id agent-1, but another key holds it"
	reserving := strings.Replace(testConfig, "pat: {", "pat: {allow: [{id: agent-1, key: "+thumbprint(t, party)+"}], ", 1)
	g.write("uimgate.yaml", strings.ReplaceAll(reserving, "UPSTREAM", g.upstream.server.URL))
	checked := func() string {
		t.Helper()
		cfg, problems := g.load()
		loaded, more := service.Load(t.Context(), cfg, time.Now)
		if loaded == nil {
			t.Fatal(problems, more)
		}
		keeper := daemon.Keeper{Config: cfg, Now: time.Now}
		return fmt.Sprint(keeper.CheckServices(t.Context(), loaded))
	}
	if got := checked(); !strings.Contains(got, want) {
		t.Errorf("check: %q, want a text that contains %q", got, want)
	}
	if got := g.adminDo("POST", "/admin/v1/reload", nil); got.status != http.StatusOK || !strings.Contains(string(got.body), want) {
		t.Errorf("a reload: %d %s", got.status, got.body)
	}
	if got := g.adminDo("GET", "/admin/v1/status", nil); !strings.Contains(string(got.body), `"held_by_others":["agent-1"]`) {
		t.Errorf("the status: %s", got.body)
	}
	if got := holder.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusUnauthorized {
		t.Errorf("a call of the holder: %d %s; want %v", got.status, got.body, http.StatusUnauthorized)
	}
	g.stop()
	g = startGate(t, setup{dir: g.dir, config: reserving})
	if !strings.Contains(g.log.String(), want) {
		t.Errorf("a start: %s, want a text that contains %q", g.log.String(), want)
	}
	party.at(g).agree()
	if got := checked(); strings.Contains(got, want) {
		t.Errorf("check, after the agreement of the party: %q", got)
	}
}
