package daemon_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/status"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
)

// auditAt returns a data directory whose audit stream is a link to another path.
func auditAt(t *testing.T, target string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(dir, "data", "audit.jsonl")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// health requests the status until is returns true, and returns that status.
func (g *gate) health(is func(status.Health) bool) int {
	g.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		a, err := try(g.t.Context(), http.MethodGet, g.admin+"/readyz", nil, nil)
		if err != nil {
			g.t.Fatal(err)
		}
		var h status.Health
		if err := json.Unmarshal(a.body, &h); err != nil {
			g.t.Fatal(err)
		}
		if is(h) {
			return a.status
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("/readyz: %s", a.body)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// metric returns the value of a series as text, or "" if there is none.
func (g *gate) metric(series string) string {
	g.t.Helper()
	a, err := try(g.t.Context(), http.MethodGet, g.admin+"/metrics", nil, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (.*)$`).FindSubmatch(a.body)
	if found == nil {
		return ""
	}
	return string(found[1])
}

func audit(h status.Health) status.Check { return h.Checks["audit"] }

const requiredAudit = testConfig + "audit: {required: true}\n"

func TestUnavailableAuditDoesNotStopCalls(t *testing.T) {
	t.Parallel()
	away := filepath.Join(t.TempDir(), "away")
	g := startGate(t, setup{dir: auditAt(t, filepath.Join(away, "audit.jsonl"))})
	a := g.newAgent("agent-1").agree()
	if got := a.execute(order, map[string]any{"product_id": "p1"}, header{"UIM-Request-ID": "r-1"}); got.status != http.StatusOK {
		t.Errorf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	code := g.health(func(h status.Health) bool { return h.Ready && audit(h).OK && audit(h).Degraded })
	if code != http.StatusOK {
		t.Errorf("/readyz: %d, want %d", code, http.StatusOK)
	}
	if n := g.metric("uimgate_audit_write_failures_total"); n == "0" || n == "" {
		t.Errorf("%q failures are counted", n)
	}
	if err := os.Mkdir(away, 0o700); err != nil {
		t.Fatal(err)
	}
	g.health(func(h status.Health) bool { return !audit(h).Degraded })
	if text, err := os.ReadFile(filepath.Join(away, "audit.jsonl")); err != nil || !strings.Contains(string(text), `"request_id":"r-1"`) {
		t.Errorf("got %v, %s", err, text)
	}
	if n := strings.Count(g.log.String(), "audit records cannot be written"); n != 1 {
		t.Errorf("one outage was logged %d times", n)
	}
}

func TestRequiredAuditRefusesUnrecordedCalls(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{dir: auditAt(t, "/dev/full"), config: requiredAudit})
	a := g.newAgent("agent-1").agree()
	for range 3 {
		got := a.execute(order, map[string]any{"product_id": "p1"}, header{"Idempotency-Key": "k-1"})
		if got.status != http.StatusServiceUnavailable || got.reason(t) != "STORE_UNAVAILABLE" || got.header.Get("Retry-After") == "" {
			t.Errorf("got %d %s", got.status, got.body)
		}
	}
	if n := len(g.upstream.calls()); n != 0 {
		t.Errorf("%d calls reached the service, want 0", n)
	}
	code := g.health(func(h status.Health) bool {
		return !h.Ready && !audit(h).OK && audit(h).Reason == "audit records cannot be written: no space left on device"
	})
	if code != http.StatusServiceUnavailable {
		t.Errorf("/readyz: %d, want %d", code, http.StatusServiceUnavailable)
	}
	if err := os.Remove(filepath.Join(g.dir, "data", "audit.jsonl")); err != nil { // an operator frees space, and sends SIGHUP
		t.Fatal(err)
	}
	g.reload <- struct{}{}
	g.health(func(h status.Health) bool { return h.Ready })
	got := a.execute(order, map[string]any{"product_id": "p1"}, header{"Idempotency-Key": "k-1", "UIM-Request-ID": "r-2"})
	if got.status != http.StatusOK || got.header.Get("UIM-Replayed") != "" || len(g.upstream.calls()) != 1 {
		t.Errorf("got %d %s", got.status, got.body)
	}
	text := g.file("data/audit.jsonl")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	started, ended := lines[len(lines)-2], lines[len(lines)-1]
	if !strings.Contains(started, `"request_id":"r-2"`) || !strings.Contains(started, `"decision":"begun"`) ||
		!strings.Contains(ended, `"request_id":"r-2"`) || !strings.Contains(ended, `"outcome":"done"`) {
		t.Errorf("the records when the answer has left: %s", text)
	}
}

// If a reload makes audit records required, calls without a record are refused from then on.
func TestReloadAppliesRequiredAudit(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{dir: auditAt(t, "/dev/full")})
	a := g.newAgent("agent-1").agree()
	if got := a.execute(details, map[string]any{"id": "p1"}, nil); got.status != http.StatusOK {
		t.Errorf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	g.write("uimgate.yaml", strings.ReplaceAll(requiredAudit, "UPSTREAM", g.upstream.server.URL))
	if got := g.adminDo(http.MethodPost, "/admin/v1/reload", nil); got.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	if got := a.execute(details, map[string]any{"id": "p1"}, nil); got.status != http.StatusServiceUnavailable {
		t.Errorf("got %d %s; want %v", got.status, got.body, http.StatusServiceUnavailable)
	}
	if err := os.Remove(filepath.Join(g.dir, "data", "audit.jsonl")); err != nil {
		t.Fatal(err)
	}
	if got := g.adminDo(http.MethodPost, "/admin/v1/reload", nil); got.status != http.StatusOK { // otherwise the gateway stops with an error
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
}

// A full database does not stop the gateway at the start, because those writes only repeat earlier ones.
func TestFullDatabaseAtTheStartStopsOnlyWrites(t *testing.T) {
	t.Parallel()
	first := startGate(t, setup{})
	state := filepath.Join(first.dir, "data", "state.db")
	a := first.newAgent("agent-1").agree()
	first.stop()
	for _, table := range []string{"policies", "agents", "agreements", "tokens", "executions", "journal"} {
		for _, writes := range []string{"INSERT", "UPDATE"} {
			sqlitetest.Alter(t, state, `CREATE TRIGGER full_`+table+writes+` BEFORE `+writes+` ON `+table+` BEGIN SELECT RAISE(FAIL, 'full'); END`)
		}
	}
	g := startGate(t, setup{dir: first.dir})
	a.g = g
	if got := a.execute(order, map[string]any{"product_id": "p1"}, nil); got.status != http.StatusServiceUnavailable {
		t.Errorf("a call that writes: %d %s; want %v", got.status, got.body, http.StatusServiceUnavailable)
	}
	for _, path := range []string{"/agents.json", "/api/policy", "/api/intents/search"} {
		if got := g.do(http.MethodGet, path, nil, nil); got.status != http.StatusOK {
			t.Errorf("%s: got %d %s; want %v", path, got.status, got.body, http.StatusOK)
		}
	}
	if !strings.Contains(g.log.String(), "it was recorded before") {
		t.Error("the log does not mention the failed write")
	}
}

func TestWrongAdminTokensAreCounted(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	refused := 0
	for range 10 {
		a, err := try(t.Context(), http.MethodGet, g.admin+"/admin/v1/status", nil, header{"Authorization": "Bearer wrong-token-canary"})
		if err != nil {
			t.Fatal(err)
		}
		if a.status == http.StatusTooManyRequests {
			refused++
		}
	}
	if n := g.metric(`uimgate_shed_total{cause="admin_tokens"}`); refused == 0 || n != strconv.Itoa(refused) {
		t.Errorf("the metric is %s, want %d", n, refused)
	}
}
