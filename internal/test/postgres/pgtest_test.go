package pgtest_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// kept reads the row of an earlier test step through a DSN.
func kept(ctx context.Context, dsn string) (n int, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, "SELECT n FROM kept").Scan(&n)
	return n, errors.Join(err, conn.Close(ctx))
}

func TestWhatWasCommittedOutlivesTheServer(t *testing.T) {
	c := pgtest.Private(t, nil)
	name, err := c.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Exec(t.Context(), name, "CREATE TABLE kept (n INT); INSERT INTO kept VALUES (7)"); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []pgtest.Mode{pgtest.Immediate, pgtest.Fast} {
		if err := c.Stop(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
		if _, err := kept(t.Context(), c.DSN(name)); err == nil {
			t.Fatalf("%s: the stopped server answers", mode)
		}
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := kept(t.Context(), c.DSN(name)); err != nil || n != 7 {
			t.Fatalf("%s: %d, %v; want 7, nil", mode, n, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.Socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after closing: %v, want %v", err, os.ErrNotExist)
	}
}

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	c := pgtest.Start(t)
	first, second := c.Database(t), c.Database(t)
	if first == second || c != pgtest.Start(t) {
		t.Fatal("want one server and two databases")
	}
	if _, err := kept(t.Context(), first); err == nil {
		t.Fatal("the new database is not empty")
	}
}

func TestAProxyFailsAsANetworkDoes(t *testing.T) {
	c := pgtest.Start(t)
	p := c.Proxy(t)
	dsn, err := p.DSN(c.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	p.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := conn.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("stalled: %v, want %v", err, context.DeadlineExceeded)
	}
	p.Cut()
	if other, err := pgx.Connect(t.Context(), dsn); err == nil {
		t.Fatalf("cut: connected, %v", other.Close(t.Context()))
	}
	p.Heal()
	conn, err = pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(conn.Ping(t.Context()), conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
}
