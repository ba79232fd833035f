//go:build soak || soakshort

package soak

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// A gateway is stopped while it has a lease. It continues when the lease has expired and others have exhausted the limit: it must not use
// the rest of its lease.
func TestExpiredLeaseIsNotUsed(t *testing.T) {
	t.Parallel()
	w := postgresWorld(t, pgtest.Start(t))
	hot := w.agentNamed("hot", 2)
	var n atomic.Int64
	call := func(g *gateway) attempt {
		return call{agent: hot, token: hot.token(), intent: pulse, ref: fmt.Sprintf("n%d.%s", n.Add(1), effectDone)}.at(g)
	}
	least := floor{"freezes": 3, "upstream " + pulse: 20}
	for end := w.clock.now() + length; w.clock.now() < end || w.clock.now() < end+maxExtraTime && len(w.count().missing(least)) > 0; {
		pause(nil, windowOver) // until all units are free again
		stopped := pick(w.gateways)
		over := make(chan struct{})
		for i := range 4 {
			w.worker(over, fmt.Sprint(i), 0, func(string) { call(stopped) })
		}
		pause(nil, random(20*time.Millisecond, 120*time.Millisecond))
		w.whileFrozen(stopped, func() {
			close(over)
			pause(nil, windowOver)
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
	// windowOver is a time after which earlier calls no longer count for a limit per second.
	windowOver = 1300 * time.Millisecond
	// manyRefusals is a number of refusals that shows that the limit is exhausted, and no lease has units left.
	manyRefusals = 32
)

// whileFrozen calls do while a gateway is stopped.
func (w *world) whileFrozen(g *gateway, do func()) {
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
