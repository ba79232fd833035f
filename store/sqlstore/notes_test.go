package sqlstore

import (
	"context"
	"fmt"
	"sync"
	"testing"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// Processes that note their clocks at the same time do not deadlock.
func TestNotesOfProcessesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	rows := map[string]int64{}
	for i := range 20 {
		rows[fmt.Sprint("note", i)] = int64(i)
	}
	var all sync.WaitGroup
	for range 2 {
		s := openOn(t, dsn, nil)
		all.Go(func() {
			for range 20 {
				err := s.db.Alone(t.Context(), func(ctx context.Context, t *engine.Tx) error { return t.Note(ctx, rows) })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
