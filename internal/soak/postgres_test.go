package soak

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// Three gateways share one PostgreSQL, and one of them is killed about every second. Agents come through all doors.
func TestReplicasKilledUnderLoad(t *testing.T) {
	w := postgresWorld(t, pgtest.Start(t))
	w.invite()
	w.runAndJudge(killedFloor(), w.killLoop)
}

// The clocks of two of three gateways are five seconds off, one fast and one slow. It changes nothing, through any door.
func TestReplicasWithWrongClocks(t *testing.T) {
	w := postgresWorld(t, pgtest.Start(t), 5*time.Second, 0, -5*time.Second)
	w.invite()
	w.runAndJudge(doorAgentsFloor(), func() {})
}

// The rows that calls need are locked for seconds, again and again. Whatever waits for them is not sent on if its PAT has been
// revoked meanwhile.
func TestCallsThatWaitInTheStore(t *testing.T) {
	server := pgtest.Start(t)
	w, database := postgresWorldOn(t, server)
	// Each lock holds all calls up for longer than it is away: what is counted here is what waited, not how much was permitted.
	least := floor{
		"locks": 1, "revoked": 2, "upstream " + details: 5 * floorTimes, "upstream " + order: 5 * floorTimes, "told captured": 5 * floorTimes,
	}
	w.runAndJudge(least, func() {
		for pause(w.over, random(300*time.Millisecond, 900*time.Millisecond)) {
			err := server.Exec(context.WithoutCancel(t.Context()), database, lockStatements)
			if errors.Is(err, pgtest.ErrDeadlock) {
				continue // with calls that lock rows of these tables in another order: the server chose this transaction
			}
			if err != nil {
				t.Error(err)
				return
			}
			w.locks.Add(1)
		}
	})
}

const lockStatements = "BEGIN; LOCK TABLE counters, accounts, pools, nonces IN EXCLUSIVE MODE; SELECT pg_sleep(3.5); COMMIT"

// Every commit takes a tenth of a second, on a disk that is slow. Limits per second still let through what they permit, or
// nearly.
func TestReplicasOnASlowDisk(t *testing.T) {
	server := pgtest.Private(t, map[string]string{"commit_delay": "100000", "commit_siblings": "0"})
	w := postgresWorld(t, server)
	steady := w.agentNamed("steady", 2)
	least := floor{"upstream " + search: int(length/time.Second) * searchRate / 2}
	w.over = make(chan struct{})
	for i := range 6 {
		w.worker(w.over, fmt.Sprintf("steady%d", i), 20*time.Millisecond, func(ref string) { w.once(steady, search, ref) })
	}
	for i := range 2 {
		w.worker(w.over, fmt.Sprintf("payer%d", i), 20*time.Millisecond, func(ref string) { w.buy(steady, order, ref) })
	}
	for end := w.clock.now() + length; w.clock.now() < end || w.clock.now() < end+maxExtraTime && len(w.count().missing(least)) > 0; {
		pause(nil, 250*time.Millisecond)
	}
	close(w.over)
	w.loading.Wait()
	w.verdict(w.evidence(), least)
}

// PostgreSQL crashes, and gateways lose their connections to it: one, or all. They refuse what they cannot decide, and
// recover by themselves. Agents come through all doors; the connections of those that stay are not lost.
func TestPostgreSQLFails(t *testing.T) {
	server := pgtest.Private(t, nil)
	w := postgresWorld(t, server)
	w.invite()
	least := doorAgentsFloor()
	least["outages"], least["STORE_UNAVAILABLE"], least["declined"] = 4, 5, 1
	w.runAndJudge(least, func() { w.breakDatabase(server) })
}

// postgresWorld makes three gateways with these clock offsets. Each reaches one database through a proxy of its own.
func postgresWorld(t *testing.T, server *pgtest.Cluster, offsets ...time.Duration) *world {
	t.Helper()
	w, _ := postgresWorldOn(t, server, offsets...)
	return w
}

// postgresWorldOn is postgresWorld; it also returns the name of the database.
func postgresWorldOn(t *testing.T, server *pgtest.Cluster, offsets ...time.Duration) (*world, string) {
	t.Helper()
	w := newWorld(t)
	direct := server.Database(t)
	address, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		way := server.Proxy(t)
		dsn, err := way.DSN(direct)
		if err != nil {
			t.Fatal(err)
		}
		g := newGateway(t, string(rune('a'+i)), w.config(dsn))
		if i < len(offsets) {
			g.offset = offsets[i]
		}
		w.proxies, w.gateways = append(w.proxies, way), append(w.gateways, g)
	}
	w.open = func(ctx context.Context) (records, error) {
		return sqlstore.Open(ctx, direct, sqlstore.Options{Now: time.Now})
	}
	w.startAll()
	return w, strings.TrimPrefix(address.Path, "/")
}

// breakDatabase makes the database unreachable in one form after another, until the load is over: for all gateways,
// longer than it takes to detect, or for one gateway.
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
		func() { // somebody makes its commits faster than its disk; then it crashes and is restarted, as it was before
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

// cutOff closes proxies to the database for a time.
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

// outage records the begin of an outage of one gateway, or of all, and returns a function that records the end.
func (w *world) outage(gateway string) (end func()) {
	o := outage{Gateway: gateway, From: w.clock.now()}
	return func() {
		o.To = w.clock.now()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.outages = append(w.outages, o)
	}
}
