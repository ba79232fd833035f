package sqlstore_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore"
	"github.com/uimgate/uimgate/store/storetest"
	"github.com/uimgate/uimgate/store/storetest/pgtest"
)

func openEngine(t *testing.T, place string, now func() time.Time) storetest.Engine {
	t.Helper()
	path := filepath.Join(place, "state.db")
	sqlstore.Prepare(t, path)
	s, err := sqlstore.Open(t.Context(), path, sqlstore.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	s.KeepLedger(storetest.LedgerKept)
	return s
}

func TestConformance(t *testing.T) { storetest.Run(t, openEngine) }

// template is a PostgreSQL database just made, of which every test has a copy.
var template = sync.OnceValues(func() (string, error) {
	ctx := context.Background()
	c, err := pgtest.Shared()
	if err != nil {
		return "", err
	}
	name, err := c.CreateDatabase(ctx, "")
	if err != nil {
		return "", err
	}
	s, err := sqlstore.Open(ctx, c.DSN(name), sqlstore.Options{Now: time.Now})
	if err != nil {
		return "", err
	}
	return c.DSN(name), s.Close()
})

// freshDatabase returns the URL of a database that was just made.
func freshDatabase(tb testing.TB) string {
	tb.Helper()
	c := pgtest.Start(tb)
	dsn, err := template()
	if err != nil {
		tb.Fatal(err)
	}
	return c.Copy(tb, dsn)
}

// databaseAt returns the URL of the database that belongs to a place, and notes it there.
func databaseAt(t *testing.T, place string) string {
	t.Helper()
	note := filepath.Join(place, "url")
	text, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(freshDatabase(t))
		err = os.WriteFile(note, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func openPostgres(t *testing.T, place string, now func() time.Time) storetest.Engine {
	t.Helper()
	s, err := sqlstore.OpenByClock(t.Context(), databaseAt(t, place), sqlstore.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	s.KeepLedger(storetest.LedgerKept)
	return s
}

func TestConformanceOfPostgres(t *testing.T) {
	pgtest.Start(t)
	storetest.Run(t, openPostgres)
}

func TestListingsOfPostgres(t *testing.T) {
	pgtest.Start(t)
	storetest.RunListings(t, openPostgres)
}
