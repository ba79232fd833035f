package soak

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/storetest/pgtest"
)

// Gateways are stopped for longer than their leases hold, and go on. Meanwhile revocations went past them.
func TestReplicasStoppedForAWhile(t *testing.T) {
	w := postgresWorld(t, pgtest.Start(t))
	least := usual()
	least["freezes"] = 2
	w.judged(least, w.freeze)
}

// A gateway is stopped in the midst of a lease. When that is dead, and others have used the limit up, the gateway
// goes on: what it has left it must not spend.
func TestNoDeadLeaseIsSpent(t *testing.T) {
	w := postgresWorld(t, pgtest.Start(t))
	hot := w.agentNamed("hot", 2)
	var n atomic.Int64
	call := func(g *gateway) attempt {
		return call{agent: hot, token: hot.token(), intent: pulse, ref: fmt.Sprintf("n%d.%s", n.Add(1), works)}.at(g)
	}
	least := floor{"freezes": 3, "upstream " + pulse: 20}
	for end := w.clock.now() + length; w.clock.now() < end || w.clock.now() < end+atMost && len(w.count().under(least)) > 0; {
		pause(nil, oldEnough) // all may be had again
		stopped := pick(w.gateways)
		over := make(chan struct{})
		for i := range 4 {
			w.worker(over, fmt.Sprint(i), 0, func(string) { call(stopped) })
		}
		pause(nil, random(20*time.Millisecond, 120*time.Millisecond))
		w.frozen(stopped, func() {
			close(over)
			pause(nil, oldEnough)
			full := make(chan struct{})
			var refusals atomic.Int64
			for i := range 8 {
				other := w.gateways[i%len(w.gateways)]
				if other == stopped {
					continue
				}
				w.worker(full, fmt.Sprint(i), 0, func(string) {
					if call(other).Status == http.StatusTooManyRequests && refusals.Add(1) == manyRefusals {
						close(full)
					}
				})
			}
			if pause(full, 2*time.Second) && refusals.Add(manyRefusals) < 2*manyRefusals {
				close(full)
			}
		})
		for range 16 {
			w.loading.Go(func() { call(stopped) })
		}
		w.loading.Wait()
	}
	w.verdict(w.evidence(), least)
}

const (
	// oldEnough is a time after which a limit of a second counts no more what was had before.
	oldEnough = 1300 * time.Millisecond
	// manyRefusals show that nothing is left of a limit, on any lease.
	manyRefusals = 32
)

// freeze stops one gateway after another for a while, until the load is over. Calls are sent to it as it stands, which it
// finds when it goes on.
func (w *world) freeze() {
	hot := w.agentNamed("frozen", 1)
	for n := 0; pause(w.over, random(200*time.Millisecond, 800*time.Millisecond)); n++ {
		g := pick(w.gateways)
		w.avoided.Store(g)
		w.frozen(g, func() {
			for i := range 4 {
				c := call{agent: hot, token: hot.token(), intent: pulse, ref: fmt.Sprintf("frozen-%d-%d.%s", n, i, works)}
				w.loading.Go(func() { c.at(g) })
			}
			pause(nil, random(300*time.Millisecond, 2500*time.Millisecond))
		})
		w.avoided.Store(nil)
	}
}

// frozen does something while a gateway is stopped.
func (w *world) frozen(g *gateway, do func()) {
	if err := g.signal(syscall.SIGSTOP); err != nil {
		w.t.Error(err)
	}
	f := freeze{Gateway: g.name, From: w.clock.now()}
	do()
	f.To = w.clock.now()
	if err := g.signal(syscall.SIGCONT); err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.freezes = append(w.freezes, f)
}
