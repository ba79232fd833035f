package sqlstore

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	storetest "github.com/uimgate/uimgate/internal/test/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// The suite on SQLite. Then the plan of every statement that it sent is checked: one that reads a whole table would
// make calls slower as the tables grow.
func TestConformance(t *testing.T) { //nolint:tparallel // the suite runs its scenarios in parallel, the plans come after them
	t.Parallel()
	var mu sync.Mutex
	statements := map[string]bool{}
	openAs := func(t *testing.T, place string, now func() time.Time) storetest.Engine {
		t.Helper()
		d := engine.SQLite()
		d.Counting = engine.ByClock // the clock of a suite is the store's
		rewrite := d.Rewrite
		d.Rewrite = func(query string) string {
			query = rewrite(query)
			mu.Lock()
			statements[query] = true
			mu.Unlock()
			return query
		}
		path := filepath.Join(place, "state.db")
		Empty.Copy(t, path)
		s, err := open(t.Context(), path, Options{Now: now}, d, newJournal)
		if err != nil {
			t.Fatal(err)
		}
		s.KeepLedger(storetest.LedgerKept)
		return s
	}
	t.Run("suite", func(t *testing.T) { storetest.Run(t, openAs) }) // returns when all of it is done
	t.Run("no statement scans a table", func(t *testing.T) { explainAll(t, openAs, statements) })
}

func explainAll(t *testing.T, openAs storetest.Opener, statements map[string]bool) {
	t.Helper()
	s, ok := openAs(t, t.TempDir(), time.Now).(*Store)
	if !ok {
		t.Fatal("not a Store")
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	explained := 0
	for query := range statements {
		verb, _, _ := strings.Cut(query, " ")
		switch verb {
		case "SELECT", "INSERT", "UPDATE", "DELETE":
		default:
			continue
		}
		explained++
		explain(t, s, query)
	}
	if explained < 50 {
		t.Fatalf("only %d statements were seen", explained)
	}
}

// explain fails where a statement reads a whole table or sorts one.
func explain(t *testing.T, s *Store, query string) {
	t.Helper()
	args := make([]any, strings.Count(query, "?"))
	for i := range args {
		args[i] = 1
	}
	err := s.db.List(t.Context(), "EXPLAIN QUERY PLAN "+query, args, func(scan engine.Scan) error {
		var id, parent, unused int
		var detail string
		if err := scan(&id, &parent, &unused, &detail); err != nil {
			return err
		}
		walks := strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "USING")
		if (walks || strings.Contains(detail, "TEMP B-TREE")) && !allowed(query, detail) {
			t.Errorf("%s\n\t%s", detail, query)
		}
		return nil
	})
	if err != nil {
		t.Errorf("%v\n\t%s", err, query)
	}
}

// allowed reports whether what is read is always small: the keys that sign, the services, the keys of one page of agents, the
// policies offered (of which those offered at one moment are sorted) and the groups of a statement; and the check of the
// balance, which has to read everything.
func allowed(query, detail string) bool {
	for _, part := range []string{
		"AS every", "UPDATE signing_keys", "FROM signing_keys", "FROM services", "FROM policies WHERE true",
		"FROM agent_keys WHERE (service, agent_id) IN (VALUES",
	} {
		if strings.Contains(query, part) {
			return true
		}
	}
	return strings.Contains(query, "FROM policies") && strings.Contains(detail, "FOR LAST TERM OF ORDER BY") ||
		(strings.HasPrefix(query, "SELECT 'topped_up'") || strings.Contains(query, "FROM ledger l LEFT JOIN executions")) &&
			strings.Contains(detail, "GROUP BY") || strings.Contains(detail, "CONSTANT ROW") ||
		strings.Contains(detail, "-ROW VALUES CLAUSE") ||
		detail == "SCAN counted" // of a bounded number of rows
}
