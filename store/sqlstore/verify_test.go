package sqlstore_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// Verify works on both engines while the database is in use.
func TestVerifyFindsDeletedLedgerEntry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dsn := ownDatabase(t)
	for place, s := range map[string]*sqlstore.Store{
		filepath.Join(dir, "state.db"): openStore(t, dir),
		dsn:                            byClock(t, dsn, 0),
	} {
		for _, id := range []string{"1", "2"} {
			if err := paidCall(t.Context(), s, id); err != nil {
				t.Fatal(err)
			}
		}
		found, err := sqlstore.Verify(t.Context(), place)
		if err != nil || found.Executions != 2 || found.Entries < 2 {
			t.Fatalf("got %+v, %v; want no error, Executions 2 and Entries at least 2", found, err)
		}
		const take = "DELETE FROM ledger WHERE seq = (SELECT MAX(seq) FROM ledger)"
		if place == dsn {
			onDatabase(t, dsn, take)
		} else if _, err := otherProcess(t, dir).ExecContext(t.Context(), take); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlstore.Verify(t.Context(), place); !errors.Is(err, store.ErrUnbalanced) {
			t.Errorf("%v; want an error that the balance is wrong", err)
		}
	}
	if _, err := sqlstore.Verify(t.Context(), filepath.Join(dir, "nothing.db")); err == nil {
		t.Error("verified a missing database")
	}
}
