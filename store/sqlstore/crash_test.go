package sqlstore_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore"
	"github.com/uimgate/uimgate/store/storetest"
	"github.com/uimgate/uimgate/store/storetest/pgtest"
)

// The environment variables that make the test binary the process that is killed.
const (
	envDatabase = "SQLSTORE_TEST_DATABASE"
	envLife     = "SQLSTORE_TEST_LIFE"
)

func TestMain(m *testing.M) {
	if database := os.Getenv(envDatabase); database != "" {
		fmt.Fprintln(os.Stderr, work(context.Background(), database, os.Getenv(envLife)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func work(ctx context.Context, database, life string) error {
	s, err := sqlstore.Open(ctx, database, sqlstore.Options{Now: time.Now})
	if err != nil {
		return err
	}
	return storetest.Work(ctx, s, life, os.Stdout)
}

func TestWhatWasAcknowledgedSurvivesTheKill(t *testing.T) {
	t.Parallel()
	crash(t, sqlstore.SQLiteLives, func(place string) string { return filepath.Join(place, "state.db") })
}

func TestWhatPostgresAcknowledgedSurvivesTheKill(t *testing.T) {
	t.Parallel()
	pgtest.Start(t)
	crash(t, sqlstore.PostgresLives, func(place string) string { return databaseAt(t, place, ownDatabase) })
}

// crash kills processes that work on the database of a place.
func crash(t *testing.T, lives int, at func(place string) string) {
	t.Helper()
	open := func(t *testing.T, place string, now func() time.Time) storetest.Engine {
		t.Helper()
		s, err := sqlstore.Open(t.Context(), at(place), sqlstore.Options{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	storetest.Crash(t, open, lives, func(place, life string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), envDatabase+"="+at(place), envLife+"="+life)
		return cmd
	})
}
