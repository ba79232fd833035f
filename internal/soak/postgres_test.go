package soak

import (
	"context"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore"
	"github.com/uimgate/uimgate/store/storetest/pgtest"
)

// Three gateways share one PostgreSQL, and any of them is killed about every second.
func TestReplicasKilledUnderLoad(t *testing.T) {
	w := postgresWorld(t, pgtest.Start(t))
	w.judged(usual(), w.kills)
}

// The clocks of two of three gateways are five seconds off, one either way. It changes nothing.
func TestReplicasWithWrongClocks(t *testing.T) {
	w := postgresWorld(t, pgtest.Start(t), 5*time.Second, 0, -5*time.Second)
	w.judged(usual(), func() {})
}

// PostgreSQL crashes, and gateways lose the way to it: one, or all. What they cannot know they refuse, and they
// recover by themselves.
func TestPostgreSQLInTrouble(t *testing.T) {
	server := pgtest.Private(t, nil)
	w := postgresWorld(t, server)
	least := usual()
	least["outages"], least["STORE_UNAVAILABLE"] = 4, 5
	w.judged(least, func() { w.lose(server) })
}

// postgresWorld is three gateways, their clocks off by these, that reach one database each by a way of its own.
func postgresWorld(t *testing.T, server *pgtest.Cluster, offsets ...time.Duration) *world {
	t.Helper()
	w := newWorld(t)
	direct := server.Database(t)
	for i := range 3 {
		way := server.Proxy(t)
		dsn, err := way.DSN(direct)
		if err != nil {
			t.Fatal(err)
		}
		g := newGateway(t, string(rune('a'+i)), configFile(w.upstream.server.URL, dsn))
		if i < len(offsets) {
			g.offset = offsets[i]
		}
		w.ways, w.gateways = append(w.ways, way), append(w.gateways, g)
	}
	w.open = func(ctx context.Context) (records, error) {
		return sqlstore.Open(ctx, direct, sqlstore.Options{Now: time.Now})
	}
	w.startAll()
	return w
}

// lose makes the database go away in one way after another, until the load is over: for all, longer than it takes
// to notice, or for one gateway.
func (w *world) lose(server *pgtest.Cluster) {
	all, one := longerThanNoticed, 1500*time.Millisecond
	troubles := []func(){
		func() { // it crashes, and is started again
			if err := server.Kill(w.t.Context()); err != nil {
				w.t.Error(err)
			}
			o := w.outage("")
			pause(nil, 500*time.Millisecond)
			o()
			if err := server.Start(context.WithoutCancel(w.t.Context())); err != nil {
				w.t.Error(err)
			}
		},
		func() { w.cutOff(w.ways, (*pgtest.Proxy).Cut, all) },
		func() { w.cutOff(w.ways[:1], (*pgtest.Proxy).Stall, one) },
		func() { w.cutOff(w.ways, (*pgtest.Proxy).Stall, all) },
		func() {
			if err := server.Restart(context.WithoutCancel(w.t.Context()), pgtest.Fast); err != nil {
				w.t.Error(err)
			}
		},
		func() { w.cutOff(w.ways[1:], (*pgtest.Proxy).Cut, one) },
	}
	for n := 0; pause(w.over, 700*time.Millisecond); n++ {
		troubles[n%len(troubles)]()
	}
}

const longerThanNoticed = unreadyWithin + 1500*time.Millisecond

// cutOff closes ways to the database for so long.
func (w *world) cutOff(ways []*pgtest.Proxy, closeWay func(*pgtest.Proxy), d time.Duration) {
	for _, p := range ways {
		closeWay(p)
	}
	var ended []func()
	for i, g := range w.gateways {
		for _, p := range ways {
			if p == w.ways[i] {
				ended = append(ended, w.outage(g.name))
			}
		}
	}
	pause(nil, d)
	for _, end := range ended {
		end()
	}
	for _, p := range ways {
		p.Heal()
	}
}

// outage begins an outage of one gateway, or of all, and returns what ends it.
func (w *world) outage(gateway string) (end func()) {
	o := outage{Gateway: gateway, From: w.clock.now()}
	return func() {
		o.To = w.clock.now()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.outages = append(w.outages, o)
	}
}
