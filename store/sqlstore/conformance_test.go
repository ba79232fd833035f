package sqlstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore"
	"github.com/uimgate/uimgate/store/storetest"
)

func openEngine(t *testing.T, place string, now func() time.Time) storetest.Engine {
	t.Helper()
	path := filepath.Join(place, "state.db")
	sqlstore.Prepare(t, path)
	s, err := sqlstore.Open(t.Context(), path, sqlstore.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) { storetest.Run(t, openEngine) }
