package engine

import (
	"context"
	"database/sql"
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

// A migration has no deadline. For large tables it would be canceled and repeated forever.
func TestAMigrationHasNoDeadline(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	var own registration
	err := own.upgrade(context.WithoutCancel(t.Context()), dsn, func(ctx context.Context, _ *sql.DB, _ func(context.Context) error) error {
		if at, bounded := ctx.Deadline(); bounded {
			t.Errorf("the migration has the deadline %s", at)
		}
		return nil
	})
	own.leave(t.Context())
	if err != nil {
		t.Fatal(err)
	}
}
