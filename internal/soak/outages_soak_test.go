//go:build soak || soakshort

package soak

import (
	"context"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// PostgreSQL crashes, and one or all gateways lose their connections to it. They refuse calls that they cannot decide, and recover without
// help. Agents use all doors; the connections of agents to running gateways are not lost.
func TestPostgreSQLOutages(t *testing.T) {
	t.Parallel()
	server := pgtest.Private(t, nil)
	w := postgresWorld(t, server)
	w.invite()
	least := doorAgentsFloor()
	least["outages"], least["STORE_UNAVAILABLE"], least["declined"] = 4, 5, 1
	w.runAndJudge(least, func() { w.breakDatabase(server) })
}

// breakDatabase makes the database unavailable in various ways, until the load is over: for all gateways, longer than the detection takes,
// or for some of them.
func (w *world) breakDatabase(server *pgtest.Cluster) {
	all, one := detectionTime, 1500*time.Millisecond
	change := func(statements ...string) {
		for _, statement := range statements {
			if err := server.Exec(context.WithoutCancel(w.t.Context()), "", statement); err != nil {
				w.t.Error(err)
			}
		}
	}
	kinds := []func(){
		func() { // an operator turns off synchronous commits; then the server crashes, and is restarted with the old settings
			change("ALTER SYSTEM SET synchronous_commit = off", "SELECT pg_reload_conf()")
			pause(nil, 500*time.Millisecond)
			if err := server.Kill(w.t.Context()); err != nil {
				w.t.Error(err)
			}
			o := w.outage("")
			pause(nil, 500*time.Millisecond)
			o()
			if err := server.Start(context.WithoutCancel(w.t.Context())); err != nil {
				w.t.Error(err)
			}
			change("ALTER SYSTEM RESET synchronous_commit", "SELECT pg_reload_conf()")
		},
		func() { w.cutOff(w.proxies, (*pgtest.Proxy).Cut, all) },
		func() { w.cutOff(w.proxies[:1], (*pgtest.Proxy).Stall, one) },
		func() { w.cutOff(w.proxies, (*pgtest.Proxy).Stall, all) },
		func() {
			if err := server.Restart(context.WithoutCancel(w.t.Context()), pgtest.Fast); err != nil {
				w.t.Error(err)
			}
		},
		func() { w.cutOff(w.proxies[1:], (*pgtest.Proxy).Cut, one) },
	}
	for n := 0; pause(w.over, 700*time.Millisecond); n++ {
		kinds[n%len(kinds)]()
	}
}

const detectionTime = unreadyWithin + 1500*time.Millisecond

// cutOff closes proxies to the database for the time d.
func (w *world) cutOff(proxies []*pgtest.Proxy, closeProxy func(*pgtest.Proxy), d time.Duration) {
	for _, p := range proxies {
		closeProxy(p)
	}
	var ended []func()
	for i, g := range w.gateways {
		for _, p := range proxies {
			if p == w.proxies[i] {
				ended = append(ended, w.outage(g.name))
			}
		}
	}
	pause(nil, d)
	for _, end := range ended {
		end()
	}
	for _, p := range proxies {
		p.Heal()
	}
}

// outage records the start of an outage of one gateway or, if gateway is empty, of all. It returns a function that records the end.
func (w *world) outage(gateway string) (end func()) {
	o := outage{Gateway: gateway, From: w.clock.now()}
	return func() {
		o.To = w.clock.now()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.outages = append(w.outages, o)
	}
}
