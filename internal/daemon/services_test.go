package daemon_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/daemon"
)

// starting starts a gateway on the directory of a gate that has stopped, and returns the problems.
func (g *gate) starting() string {
	g.t.Helper()
	cfg, problems := g.load()
	if cfg == nil {
		return problems.Err().Error()
	}
	err := daemon.Run(g.t.Context(), daemon.Options{Config: cfg, Load: g.load, Log: zap.NewNop(), Now: time.Now})
	var refused *daemon.ProblemsError
	if !asProblems(err, &refused) {
		g.t.Fatalf("the gateway started, or ended with %v", err)
	}
	return refused.Problems.Err().Error()
}

// withID returns a configuration whose service has an id, and further settings.
func withID(config, settings string) string {
	return strings.Replace(config, "- agents_file", "- "+settings+"\n  agents_file", 1)
}

// If an operator gives the service an id, for example to add another service, revoked PATs stay revoked and blocked agents stay blocked.
func TestNewServiceIDRestoresNoPAT(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]func(t *testing.T) (string, map[string]string){
		"SQLite": func(*testing.T) (string, map[string]string) { return testConfig, nil },
		"PostgreSQL": func(t *testing.T) (string, map[string]string) {
			t.Helper()
			return "store: ${file:store.url}\n" + testConfig, map[string]string{"store.url": migrated.Copy(t) + "\n"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, files := settings(t)
			g := startGate(t, setup{config: config, files: files})
			living, revoked, blocked := g.newAgent("living").agree(), g.newAgent("revoked").agree(), g.newAgent("blocked").agree()
			form := header{"Content-Type": "application/x-www-form-urlencoded"}
			if got := g.do("POST", "/api/pat/revoke", []byte("token="+revoked.token), form); got.status != http.StatusOK {
				t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
			}
			if got := g.adminDo("POST", "/admin/v1/agents/blocked/block", map[string]any{"reason": "test"}); got.status != http.StatusOK {
				t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
			}
			renamed := strings.ReplaceAll(withID(config, "id: renamed"), "UPSTREAM", g.upstream.server.URL)
			g.write("uimgate.yaml", renamed)
			if got := g.adminDo("POST", "/admin/v1/reload", nil); got.status < 400 || !strings.Contains(string(got.body), "formerly: default") {
				t.Errorf("a reload: %d %s", got.status, got.body)
			}
			refusedReload(t, g, "formerly: default")
			g.stop()
			if got := g.starting(); !strings.Contains(got, "services[0].id") || !strings.Contains(got, "formerly: default") {
				t.Errorf("a start: %s", got)
			}
			g = startGate(t, setup{dir: g.dir, config: withID(config, "id: renamed\n  formerly: default"), files: files})
			for a, want := range map[*agent]int{living: http.StatusOK, revoked: http.StatusUnauthorized, blocked: http.StatusForbidden} {
				if got := a.at(g).execute(search, map[string]any{"query": "lamp"}, nil); got.status != want {
					t.Errorf("%s: %d %s; want %d", a.id, got.status, got.body, want)
				}
			}
			if got := g.adminDo("POST", "/admin/v1/reload", nil); got.status != http.StatusOK {
				t.Errorf("a reload afterwards: %d %s; want %v", got.status, got.body, http.StatusOK)
			}
			if got := g.adminDo("GET", "/admin/v1/status", nil); strings.Contains(string(got.body), "refused_reload") {
				t.Errorf("the status after a reload that succeeded: %s", got.body)
			}
		})
	}
}

// refusedReload checks that a refused reload is visible to operators and their monitoring.
func refusedReload(t *testing.T, g *gate, want string) {
	t.Helper()
	status := g.adminDo("GET", "/admin/v1/status", nil)
	refused, _ := status.json(t)["refused_reload"].(map[string]any)
	if refused == nil || !strings.Contains(string(mustJSON(t, refused)), want) {
		t.Errorf("the status does not show the refused reload: %s", status.body)
	}
	ready := g.adminDo("GET", "/readyz", nil)
	checks, _ := ready.json(t)["checks"].(map[string]any)
	check, _ := checks["configuration"].(map[string]any)
	if ready.status != http.StatusOK || check["degraded"] != true || strings.Contains(string(ready.body), want) {
		t.Errorf("/readyz: %d %s", ready.status, ready.body)
	}
}

// If a service gets a new id, its identities among agents of other protocols move with it, and agents that know its address can still
// reach it.
func TestIdentitiesFollowARenamedService(t *testing.T) {
	t.Parallel()
	config := testConfig + "  doors: {uagents: {}}\n"
	g := startGate(t, setup{config: config})
	before, err := os.ReadFile(filepath.Join(g.dir, "data", "uagents.default.seed"))
	if err != nil {
		t.Fatal(err)
	}
	g.stop()
	g = startGate(t, setup{dir: g.dir, config: withID(config, "id: renamed\n  formerly: default")})
	after, err := os.ReadFile(filepath.Join(g.dir, "data", "uagents.renamed.seed"))
	if err != nil || string(after) != string(before) {
		t.Errorf("%v: the service has another seed", err)
	}
}
