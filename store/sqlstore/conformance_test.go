package sqlstore_test

import (
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	storetest "github.com/uimgate/uimgate/internal/test/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// The whole suite runs on SQLite. The scenarios in testdata/soak_on_postgres.txt run on PostgreSQL only with the build tag soak, because
// the other scenarios send all of their statements.
func TestConformanceOfPostgres(t *testing.T) { //nolint:tparallel // the scenarios of the suite run in parallel, before the check
	t.Parallel()
	pgtest.Start(t)
	list, err := os.ReadFile(soakOnPostgres)
	if err != nil {
		t.Fatal(err)
	}
	later := map[string]bool{}
	for name := range strings.FieldsSeq(string(list)) {
		later[name] = true
	}
	sent := statementsSent{by: map[string]bool{}}
	t.Run("suite", func(t *testing.T) { // returns when the whole suite has run
		storetest.RunExcept(t, later, func(t *testing.T, place string, now func() time.Time) storetest.Engine {
			t.Helper()
			_, scenario, _ := strings.Cut(t.Name(), "/suite/")
			s, err := sqlstore.OpenByClockSeen(t.Context(), databaseAt(t, place, freshDatabase), sqlstore.Options{Now: now},
				func(query string) { sent.add(query, !later[scenario]) })
			if err != nil {
				t.Fatal(err)
			}
			s.KeepLedger(storetest.LedgerKept)
			return s
		})
	})
	for query, usual := range sent.by {
		if !usual {
			t.Errorf("only scenarios in %s send this statement: %s", soakOnPostgres, query)
		}
	}
}

const soakOnPostgres = "testdata/soak_on_postgres.txt"

// statementsSent are statements, without their numbers and repetitions, and whether a scenario sent them that always runs.
type statementsSent struct {
	mu    sync.Mutex
	by    map[string]bool
	added sync.Map // sentStatement → nothing; those that are in by
}

type sentStatement struct {
	query string
	usual bool
}

var (
	numbers     = regexp.MustCompile(`\$?\b\d+\b`)
	repetitions = regexp.MustCompile(`(, \?)+|(, \(\?\))+`)
)

func (s *statementsSent) add(query string, usual bool) {
	if _, known := s.added.LoadOrStore(sentStatement{query, usual}, nil); known {
		return
	}
	query = numbers.ReplaceAllString(query, "?")
	query = repetitions.ReplaceAllString(repetitions.ReplaceAllString(query, ""), "")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by[query] = s.by[query] || usual
}
