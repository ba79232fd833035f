package sqlstore_test

import (
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	storetest "github.com/uimgate/uimgate/internal/test/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

func openPostgres(t *testing.T, place string, now func() time.Time) storetest.Engine {
	t.Helper()
	s, err := sqlstore.OpenByClock(t.Context(), databaseAt(t, place, freshDatabase), sqlstore.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	s.KeepLedger(storetest.LedgerKept)
	return s
}

func TestConformanceOfPostgres(t *testing.T) {
	t.Parallel()
	pgtest.Start(t)
	storetest.Run(t, openPostgres)
}
