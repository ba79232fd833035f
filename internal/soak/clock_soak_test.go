//go:build soak

package soak

import (
	"syscall"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// The clock of a machine is 70 seconds slow when the gateway starts, and is corrected while agents call. Then the gateway is killed and
// restarted several times, within a minute of the calls that were counted before. Limits per second and per minute do not admit more calls
// because of that.
func TestClockCorrectedBeforeRestarts(t *testing.T) {
	const slow = -70 * time.Second
	for engine, c := range map[string]struct {
		world func(*testing.T) *world
		but   []string // judges that do not apply
	}{
		// The times in the ledger are from the wall clock of the single process, which is wrong at first. Deadlines use the clock on which
		// limits are counted.
		"SQLite": {but: []string{"charges", "deadlines"}, world: func(t *testing.T) *world {
			t.Helper()
			w := newWorld(t)
			g := newGateway(t, "a", w.config(""))
			g.offset = slow
			w.gateways, w.open = []*gateway{g}, sqliteRecords(g)
			w.startAll()
			return w
		}},
		"PostgreSQL": {world: func(t *testing.T) *world {
			t.Helper()
			return postgresWorld(t, pgtest.Start(t), slow, slow, 0)
		}},
	} {
		t.Run(engine, func(t *testing.T) {
			w := c.world(t)
			w.loadLimits()
			least := floor{
				"upstream " + pulse: 500, "upstream " + search: 50, "upstream " + ceiled: 60, "upstream " + lookup: 5, "reported captured": 50,
				"RATE_LIMIT_EXCEEDED": 20, "SERVICE_CEILING": 1,
			}
			w.during(least, func() {
				pause(w.over, 8*time.Second) // until the limits per minute are exhausted
				for _, g := range w.gateways {
					if err := g.setClock(0); err != nil {
						t.Error(err)
					}
				}
				for range 5 {
					pause(w.over, random(500*time.Millisecond, 4*time.Second))
					for _, g := range w.gateways {
						w.killOnce(g)
					}
				}
			})
			w.recover()
			w.verdict(w.evidence(), least, c.but...)
		})
	}
}

// loadLimits makes agents exhaust limits per second and per minute, and pay, until the load is over. It returns at once.
func (w *world) loadLimits() {
	w.t.Helper()
	hot, buyer := w.agentNamed("hot", 2), w.agentNamed("buyer", 2)
	w.approve(buyer)
	w.over = make(chan struct{})
	for name, intent := range map[string]string{
		"pulse0": pulse, "pulse1": pulse, "search0": search, "search1": search, "lookup": lookup, "ceiled": ceiled,
	} {
		w.worker(w.over, name, 2*time.Millisecond, func(ref string) { w.once(hot, intent, ref) })
	}
	for _, name := range []string{"buyer0", "buyer1"} {
		w.worker(w.over, name, 5*time.Millisecond, func(ref string) { w.buy(buyer, order, ref) })
	}
}

// setClock sets the clock of the machine, for the running process and for those that start later.
func (g *gateway) setClock(offset time.Duration) error {
	g.mu.Lock()
	g.offset = offset
	g.mu.Unlock()
	if err := g.write(offsetFile, offset.String()); err != nil {
		return err
	}
	return g.signal(syscall.SIGUSR1)
}
