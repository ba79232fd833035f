package daemon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	"github.com/uimgate/uimgate/store"
)

const (
	verifiedLine = "the ledger was verified"
	alteredLine  = "the ledger does not add up"
)

// A gateway that is restarted checks the entries after the point of its last check, and finds what was altered or removed meanwhile. It
// checks the whole ledger if it has no point, if the state was restored, and every day.
func TestRestartedGatewayChecksItsLedger(t *testing.T) {
	t.Parallel()
	sql := func(statement string) func(*gate) {
		return func(g *gate) { sqlitetest.Alter(g.t, g.state(), statement) }
	}
	earlier := `UPDATE ledger SET intent = 'x' WHERE execution_id = (SELECT execution_id FROM ledger WHERE execution_id <> '' ORDER BY seq LIMIT 1)`
	later := `UPDATE ledger SET intent = 'x' WHERE execution_id = (SELECT execution_id FROM ledger WHERE execution_id <> '' ORDER BY seq DESC LIMIT 1)`
	for name, c := range map[string]struct {
		change func(*gate)
		want   []string // of the log
	}{
		"nothing":          {func(*gate) {}, []string{verifiedLine, `"whole":false`}},
		"a later entry":    {sql(later), []string{alteredLine}},
		"an earlier entry": {sql(earlier), []string{verifiedLine, `"whole":false`}}, // the daily check finds it
		"an earlier entry, a day later": {func(g *gate) {
			sql(earlier)(g)
			g.changePoint(func(p map[string]any) { p["whole"] = time.Now().Add(-25 * time.Hour) })
		}, []string{alteredLine}},
		"a day later": {func(g *gate) {
			g.changePoint(func(p map[string]any) { p["whole"] = time.Now().Add(-25 * time.Hour) })
		}, []string{verifiedLine, `"whole":true`}},
		"a check in the future": {func(g *gate) {
			g.changePoint(func(p map[string]any) { p["whole"] = time.Now().Add(time.Hour) })
		}, []string{verifiedLine, `"whole":true`}},
		"no point": {func(g *gate) { must(g.t, os.Remove(g.point())) }, []string{verifiedLine, `"whole":true`}},
		"no JSON":  {func(g *gate) { must(g.t, os.WriteFile(g.point(), []byte("{"), 0o600)) }, []string{verifiedLine, `"whole":true`}},
		"a point of another service": {func(g *gate) {
			g.changePoint(func(p map[string]any) { p["logs"].([]any)[0].(map[string]any)["service"] = "former" })
		}, []string{verifiedLine, `"whole":true`}},
		"an older copy of the database": {func(g *gate) {
			g.verifiedAgain()
			must(g.t, os.Rename(g.state()+".copy", g.state()))
		}, []string{alteredLine, "fewer entries"}},
		"a restored backup": {func(g *gate) {
			g.verifiedAgain()
			cfg, _ := g.load()
			quiet := daemon.Progress{Copied: func(int64, int64) {}, Checking: func(time.Duration) {}}
			keeper := daemon.Keeper{Config: cfg, Now: time.Now, Progress: quiet, Limits: store.DefaultRestoredLimits()}
			_, err := keeper.Restore(g.t.Context(), g.state()+".copy")
			must(g.t, err)
		}, []string{verifiedLine, `"whole":true`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGate(t, setup{config: logged("")})
			a := g.newAgent("a").agree()
			a.chargedCall()
			a.chargedCall()
			a.logProof("id=" + a.chargedCall()) // the log has a checkpoint
			g.stop()
			text, err := os.ReadFile(g.state())
			must(t, err)
			must(t, os.WriteFile(g.state()+".copy", text, 0o600))

			g = startGate(t, setup{dir: g.dir, config: logged("")}) // its point is after three charges
			g.awaitLog(1, verifiedLine)
			a = a.at(g).agree()
			a.logProof("id=" + a.chargedCall())
			g.stop()
			c.change(g)

			g = startGate(t, setup{dir: g.dir, config: logged("")})
			g.awaitLog(1, c.want...)
			g.stop()
			other := map[string]string{verifiedLine: alteredLine, alteredLine: verifiedLine}[c.want[0]]
			if log := g.log.String(); strings.Contains(log, other) {
				t.Errorf("the log has another verdict as well: %s", log)
			}
		})
	}
}

// verifiedAgain runs the gateway until it has verified its ledger.
func (g *gate) verifiedAgain() {
	g.t.Helper()
	again := startGate(g.t, setup{dir: g.dir, config: logged("")})
	again.awaitLog(1, verifiedLine)
	again.stop()
}

func (g *gate) state() string { return config.StatePath(filepath.Join(g.dir, "data")) }

func (g *gate) point() string { return filepath.Join(g.dir, "data", "verified.json") }

// changePoint changes the point of the last check.
func (g *gate) changePoint(change func(map[string]any)) {
	g.t.Helper()
	text, err := os.ReadFile(g.point())
	var p map[string]any
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	change(p)
	if text, err = json.Marshal(p); err == nil {
		err = os.WriteFile(g.point(), text, 0o600)
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
