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

// The test runs the suite on SQLite and then checks the plan of every statement that it sent: a statement that scans a whole table would
// slow down calls as the tables grow.
func TestConformance(t *testing.T) { //nolint:tparallel // the scenarios of the suite run in parallel, before the plans
	t.Parallel()
	var mu sync.Mutex
	statements := map[string]bool{}
	openAs := func(t *testing.T, place string, now func() time.Time) storetest.Engine {
		t.Helper()
		d := engine.SQLite()
		d.Counting = engine.ByClock // the suite sets the clock of the store
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
	t.Run("suite", func(t *testing.T) { storetest.Run(t, openAs) }) // returns when the whole suite has run
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
		t.Fatalf("only %d statements were explained", explained)
	}
}

// explain fails if a statement scans or sorts a whole table.
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

// allowed reports whether a statement may scan, because it reads few rows: the signing keys, the services, the agent keys of a page, the
// agreements of one agent with a plan, those that take effect now, the offered policies (those offered at the same time are sorted) or the
// groups of a statement. The check of the balance has to read everything.
func allowed(query, detail string) bool {
	for _, part := range []string{
		"AS every", "DELETE FROM counters WHERE period <> ", "UPDATE signing_keys", "FROM signing_keys", "FROM services", "FROM policies WHERE true",
		"FROM agent_keys WHERE (service, agent_id) IN (VALUES", "FROM agreements WHERE service = ? AND agent_id = ? AND state = 'active' AND plan",
		"SELECT DISTINCT service, agent_id FROM agreements WHERE state = 'active' AND effective_at > 0",
	} {
		if strings.Contains(query, part) {
			return true
		}
	}
	return strings.Contains(query, "FROM policies") && strings.Contains(detail, "FOR LAST TERM OF ORDER BY") ||
		(strings.HasPrefix(query, "SELECT 'topped_up'") || strings.Contains(query, "FROM ledger l LEFT JOIN executions")) &&
			strings.Contains(detail, "GROUP BY") || strings.Contains(detail, "CONSTANT ROW") ||
		strings.Contains(detail, "-ROW VALUES CLAUSE") ||
		detail == "SCAN counted" || // a bounded number of rows
		detail == "SCAN ledger" && strings.Contains(query, "ORDER BY seq DESC LIMIT") // by rowid
}
