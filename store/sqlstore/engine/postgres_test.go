package engine

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

func TestRemoteServersRequireTLS(t *testing.T) {
	for place, secure := range map[string]bool{
		"postgres://me@db.example/x":                 true,
		"postgres://me@192.0.2.7:5433/x":             true,
		"postgres://me@127.0.0.1,db.example/x":       true,
		"postgres:///x?host=db.example":              true,
		"postgres://me@db.example/x?sslmode=disable": false, // the operator disables TLS
		"postgres://me@localhost/x?sslmode=disable":  false,
		"postgres:///x?host=/run/postgresql":         false,
	} {
		c, err := postgresConfig(place)
		if err != nil {
			t.Errorf("%s: %v", place, err)
			continue
		}
		if got := c.TLSConfig != nil && !c.TLSConfig.InsecureSkipVerify; got != secure {
			t.Errorf("%s: TLS with a name that is checked: %v; want %v", place, got, secure)
		}
		for _, f := range c.Fallbacks {
			if secure && (f.TLSConfig == nil || f.TLSConfig.InsecureSkipVerify) {
				t.Errorf("%s: a fallback does not use TLS", place)
			}
		}
	}
}

// A migration has no time limit. For large tables it would be canceled and repeated forever. Afterwards, the connections have their limits.
func TestAMigrationHasNoTimeLimit(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	write, read, err := openPostgres(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	limits := func() (limits string) {
		t.Helper()
		err := write.QueryRowContext(t.Context(), "SELECT string_agg(current_setting(name), ' ' ORDER BY name) FROM unnest(ARRAY"+
			"['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']) AS name").Scan(&limits)
		if err != nil {
			t.Fatal(err)
		}
		return limits
	}
	usual := limits()
	var own registration
	ctx := context.WithoutCancel(t.Context())
	err = own.upgrade(ctx, dsn, write, func(ctx context.Context, db *sql.DB, _ func(context.Context) error) error {
		if at, bounded := ctx.Deadline(); bounded {
			t.Errorf("the migration has the deadline %s", at)
		}
		if got := limits(); got != "0 0 0" || db != write {
			t.Errorf("the migration has the limits %s", got)
		}
		return nil
	})
	if got := limits(); got != usual || got == "0 0 0" {
		t.Errorf("afterwards, the limits are %s, want %s", got, usual)
	}
	if n := write.Stats().MaxOpenConnections; n != postgresWriters {
		t.Errorf("afterwards, the pool permits %d connections, want %d", n, postgresWriters)
	}
	own.leave(t.Context())
	if err = errors.Join(err, write.Close(), read.Close()); err != nil {
		t.Fatal(err)
	}
}
