package daemon_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/status"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
)

const (
	selectFirst = "SELECT execution_id FROM ledger WHERE agent_id = 'a' AND execution_id <> '' ORDER BY seq LIMIT 1"
	alterFirst  = "UPDATE ledger SET rule = 'x' WHERE execution_id = (" + selectFirst + ")"
)

// If an entry differs from its hash, the gateway refuses to show the entries of its agent, and reports a degraded check without the name of
// the agent. Calls continue, and so do the entries of other agents.
func TestAlteredEntryIsReported(t *testing.T) {
	t.Parallel()
	g, a, first := alteredGate(t, alterFirst)
	b := g.newAgent("b").agree()
	b.chargedCall()
	get := func(of *agent, path string) answer {
		return g.do("GET", path, nil, header{"Authorization": "Bearer " + of.token})
	}
	if h := g.readiness(t); h.Checks["ledger"].Degraded {
		t.Fatalf("the check of new entries found an earlier one: %+v", h)
	}
	for _, path := range []string{
		"/api/usage/entries?currency=EUR&after=-1", "/api/usage/statement?month=" + time.Now().UTC().Format("2006-01"), "/api/receipts/" + first,
	} {
		if got := get(a, path); got.status != http.StatusServiceUnavailable || got.reason(t) != "STORE_UNAVAILABLE" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		if got := get(b, path); got.status == http.StatusServiceUnavailable {
			t.Errorf("%s of another agent: %d %s", path, got.status, got.body)
		}
		g.wantLedgerTrouble(t)
	}
	if got := get(a, "/api/receipts/"+a.chargedCall()); got.status != http.StatusOK {
		t.Errorf("a later receipt: %d %s", got.status, got.body)
	}
}

// A gateway that finds an altered ledger at its start serves calls, and reports a degraded check.
func TestAlteredLedgerIsReportedAtStart(t *testing.T) {
	t.Parallel()
	g, _, _ := alteredGate(t, alterFirst, func(g *gate) { must(t, os.Remove(g.point())) })
	g.awaitLog(1, alteredLine)
	g.wantLedgerTrouble(t)
	g.newAgent("b").agree().chargedCall()
}

// A ledger that cannot be read is not reported as altered.
func TestUnreadableLedgerIsNotReportedAsAltered(t *testing.T) {
	t.Parallel()
	g, _, _ := alteredGate(t, "ALTER TABLE refunds RENAME TO former_refunds", func(g *gate) { must(t, os.Remove(g.point())) })
	g.awaitLog(1, "the ledger could not be checked")
	if strings.Contains(g.log.String(), alteredLine) || g.readiness(t).Checks["ledger"].Degraded {
		t.Errorf("the ledger is reported as altered: %s", g.log.String())
	}
}

// alteredGate returns a gateway whose database was changed while it was stopped, the agent a, and the id of its first charge.
func alteredGate(t *testing.T, statement string, more ...func(*gate)) (g *gate, a *agent, first string) {
	t.Helper()
	g = startGate(t, setup{config: logged("")})
	a = g.newAgent("a").agree()
	first = a.chargedCall()
	a.logProof("id=" + first)
	g.stop()
	g.verifiedAgain()
	sqlitetest.Alter(t, g.state(), statement)
	for _, change := range more {
		change(g)
	}
	g = startGate(t, setup{dir: g.dir, config: logged("")})
	return g, a.at(g), first
}

// wantLedgerTrouble waits until /readyz reports the ledger as degraded. Anyone may request /readyz, so it must not name an agent.
func (g *gate) wantLedgerTrouble(t *testing.T) {
	t.Helper()
	var check status.Check
	code := g.health(func(h status.Health) bool { check = h.Checks["ledger"]; return check.Degraded })
	named := strings.Contains(check.Reason, `"a"`)
	if code != http.StatusOK || !check.OK || named || !strings.Contains(check.Reason, "uimgate verify-ledger") {
		t.Errorf("/readyz: %d %+v", code, check)
	}
}
