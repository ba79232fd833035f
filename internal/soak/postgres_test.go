package soak

import (
	"context"
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
