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

// Three gateways share one PostgreSQL database, and one of them is killed about once a second. Agents use all doors.
func TestReplicasKilledUnderLoad(t *testing.T) {
	t.Parallel()
	w := postgresWorld(t, pgtest.Start(t))
	w.invite()
	w.runAndJudge(killedFloor(), w.killLoop)
}

// The rows that calls need are locked for seconds, again and again. A call that waits for them is not forwarded if its PAT is revoked in
// the meantime.
func TestCallsThatWaitInTheStore(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	w, database := postgresWorldOn(t, server)
	// Each lock delays all calls for longer than the pause between two locks, so the floor counts the calls that waited, not those that the
	// limits would permit.
	least := floor{
		"locks": 1, "revoked": 2, "upstream " + details: 5 * floorTimes, "upstream " + order: 5 * floorTimes, "reported captured": 5 * floorTimes,
	}
	w.runAndJudge(least, func() {
		for pause(w.over, random(300*time.Millisecond, 900*time.Millisecond)) {
			err := server.Exec(context.WithoutCancel(t.Context()), database, lockStatements)
			if errors.Is(err, pgtest.ErrDeadlock) {
				continue // calls lock rows of these tables in another order, and the server aborted this transaction
			}
			if err != nil {
				t.Error(err)
				return
			}
			w.caused("locks")
		}
	})
}

const lockStatements = "BEGIN; LOCK TABLE counters, accounts, pools, nonces IN EXCLUSIVE MODE; SELECT pg_sleep(3.5); COMMIT"

// Every commit takes a tenth of a second, as on a slow disk. Limits per second still admit almost as many calls as they permit.
func TestReplicasOnASlowDisk(t *testing.T) {
	t.Parallel()
	server := pgtest.Private(t, nil)
	w := postgresWorld(t, server)
	for _, statement := range []string{
		"ALTER SYSTEM SET commit_delay = 100000", "ALTER SYSTEM SET commit_siblings = 0", "SELECT pg_reload_conf()",
	} {
		if err := server.Exec(t.Context(), "", statement); err != nil {
			t.Fatal(err)
		}
	}
	steady := w.agentNamed("steady", 2)
	least := floor{"upstream " + search: int(length/time.Second) * searchRate / 2}
	w.over = make(chan struct{})
	for i := range 6 {
		w.caller(fmt.Sprintf("steady%d", i), 20*time.Millisecond, func(ref string) { w.once(steady, search, ref) })
	}
	for i := range 2 {
		w.caller(fmt.Sprintf("payer%d", i), 20*time.Millisecond, func(ref string) { w.buy(steady, order, ref) })
	}
	for end := w.clock.now() + length; w.clock.now() < end || w.clock.now() < end+maxExtraTime && len(w.count().missing(least)) > 0; {
		pause(nil, 250*time.Millisecond)
	}
	close(w.over)
	w.loading.Wait()
	w.verdict(w.evidence(), least)
}

// migrated is a database with the schema of the store.
var migrated = pgtest.NewTemplate(func(ctx context.Context, dsn string) error {
	s, err := sqlstore.Open(ctx, dsn, sqlstore.Options{Now: time.Now})
	if err != nil {
		return err
	}
	return s.Close()
})

// newDatabase creates a database. On a private server it is empty, and the gateways create the schema.
func newDatabase(t *testing.T, server *pgtest.Cluster) string {
	t.Helper()
	if server == pgtest.Start(t) {
		return migrated.Copy(t)
	}
	return server.Database(t)
}

// postgresWorld starts three gateways with these clock offsets. Each of them reaches one database through its own proxy.
func postgresWorld(t *testing.T, server *pgtest.Cluster, offsets ...time.Duration) *world {
	t.Helper()
	w, _ := postgresWorldOn(t, server, offsets...)
	return w
}

// postgresWorldOn is like postgresWorld, and also returns the name of the database.
func postgresWorldOn(t *testing.T, server *pgtest.Cluster, offsets ...time.Duration) (*world, string) {
	t.Helper()
	w := newWorld(t)
	direct := newDatabase(t, server)
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
