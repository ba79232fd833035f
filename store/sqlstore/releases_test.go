package sqlstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
)

// The state that the release of commit 888c3cd recorded is valid after the migration.
func TestStateOfEarlierReleaseIsMigrated(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, place string, _ func(string)) {
		t.Helper()
		s, err := openWith(t.Context(), place, served(store.Service{ID: "shop", Issuer: pastIssuer}))
		must(t, err)
		holds(t, s, "shop")
		must(t, s.Close())
		s, err = openWith(t.Context(), place, served(store.Service{ID: "shop", Issuer: pastIssuer}))
		must(t, err)
		holds(t, s, "shop")
		must(t, s.Close())
	})
}

// After the migration, a process of the release of commit 888c3cd could begin calls but not settle them: it would call the service and then
// fail, because the column for the answer is missing.
func TestMigrationFailsWhileEarlierReleaseRuns(t *testing.T) {
	t.Parallel()
	pgtest.Start(t)
	dsn, change := pastEngines["PostgreSQL"](t)
	earlier, err := pgx.Connect(t.Context(), dsn)
	must(t, err)
	_, err = earlier.Exec(t.Context(), "LISTEN uimgate_changes") // that release keeps this connection while it runs
	must(t, err)
	_, err = openWith(t.Context(), dsn, nil)
	if !errors.Is(err, sqlstore.ErrInUse) || !strings.Contains(err.Error(), "stop all uimgate processes") {
		t.Fatalf("%v; want the request to stop all processes", err)
	}
	change("INSERT INTO answers (execution_id, status, content_type, reason, body) " +
		"VALUES ('01900000-0000-7000-8000-000000000006', 200, '', '', '')") // the earlier release can continue
	must(t, earlier.Close(t.Context()))
	s, err := openWith(t.Context(), dsn, nil)
	must(t, err)
	holds(t, s, "shop")
	must(t, s.Close())
}

// If a release only adds to the schema, processes of the previous release continue. If it removes something, they stop, and each reports
// why.
func TestProcessesContinueBesideNewerRelease(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, place string, change func(string)) {
		t.Helper()
		s, err := openWith(t.Context(), place, nil)
		must(t, err)
		change("INSERT INTO goose_db_version (version_id, is_applied) VALUES (1000, true)")
		if _, _, err := s.Changes(t.Context(), 0); err != nil {
			t.Errorf("beside a newer release: %v", err)
		}
		must(t, s.Close())
		s, err = openWith(t.Context(), place, nil)
		if err != nil {
			t.Fatalf("a start on an expanded schema: %v", err)
		}
		holds(t, s, "shop")
		change("UPDATE sequences SET n = 1000 WHERE name = 'needs'")
		if strings.HasPrefix(place, "postgres") { // only one process uses an SQLite database
			if _, _, err := s.Changes(t.Context(), 0); !errors.Is(err, schema.ErrNewer) || !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("after a contraction: %v; want %v and %v", err, schema.ErrNewer, store.ErrUnavailable)
			}
		}
		must(t, s.Close())
		if _, err := openWith(t.Context(), place, nil); !errors.Is(err, schema.ErrNewer) {
			t.Errorf("a start on a contracted schema: %v, want %v", err, schema.ErrNewer)
		}
	})
}

// If another process ran, it would continue with the former id, without revocations and limits.
func TestStateIsNotMovedWhileOthersRun(t *testing.T) {
	t.Parallel()
	pgtest.Start(t)
	dsn, change := pastEngines["PostgreSQL"](t)
	was, moving := served(store.Service{ID: "shop", Issuer: pastIssuer}), served(store.Service{ID: "new", Issuer: pastIssuer, Formerly: "shop"})
	first, err := openWith(t.Context(), dsn, was)
	must(t, err)
	second, err := openWith(t.Context(), dsn, was)
	must(t, err)
	if _, err := openWith(t.Context(), dsn, moving); !errors.Is(err, sqlstore.ErrInUse) || !strings.Contains(err.Error(), "2 connected") {
		t.Fatalf("%v; want an error that two processes use the database", err)
	}
	holds(t, first, "shop")
	change("UPDATE sequences SET n = n + 1 WHERE name = 'moves'") // as if the state moved while this process could not reach the database
	if _, _, err := first.Changes(t.Context(), 0); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("an older process: %v, want %v", err, store.ErrUnavailable)
	}
	must(t, errors.Join(first.Close(), second.Close()))
	s, err := openWith(t.Context(), dsn, moving)
	must(t, err)
	holds(t, s, "new")
	must(t, s.Close())
}
