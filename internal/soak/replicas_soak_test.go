//go:build soak || soakshort

package soak

import (
	"fmt"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// Of three gateways, the clock of one is five seconds fast, and that of another is five seconds slow. That makes no difference on any
// door.
func TestReplicasWithWrongClocks(t *testing.T) {
	t.Parallel()
	w := postgresWorld(t, pgtest.Start(t), 5*time.Second, 0, -5*time.Second)
	w.invite()
	w.runAndJudge(doorAgentsFloor(), func() {})
}

// Gateways are stopped for longer than their leases are valid, and continue. They miss the revocations of that time. Agents use all doors;
// those that are connected to a stopped gateway continue to send over that connection.
func TestReplicasStoppedForAWhile(t *testing.T) {
	t.Parallel()
	w := postgresWorld(t, pgtest.Start(t))
	w.invite()
	least := doorAgentsFloor()
	least["freezes"] = 2
	w.runAndJudge(least, w.freezeAll)
}

// freezeAll stops a random gateway for a while, again and again, until the load is over. It sends calls to the stopped gateway, which
// reads them when it continues.
func (w *world) freezeAll() {
	hot := w.agentNamed("frozen", 1)
	for n := 0; pause(w.over, random(200*time.Millisecond, 800*time.Millisecond)); n++ {
		g := pick(w.gateways)
		w.avoided.Store(g)
		w.whileFrozen(g, func() {
			for i := range 4 {
				c := call{agent: hot, token: hot.token(), intent: pulse, ref: fmt.Sprintf("frozen-%d-%d.%s", n, i, effectDone)}
				w.loading.Go(func() { c.at(g) })
			}
			pause(nil, random(300*time.Millisecond, 2500*time.Millisecond))
		})
		w.avoided.Store(nil)
	}
}
