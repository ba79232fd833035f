package sqlstore

import (
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A writer discards its state of the journal when another process writes and when a transaction fails, while readers use it.
func TestReadersContinueWhileWriterForgetsJournal(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var both sync.WaitGroup
	both.Go(func() {
		for range 1000 {
			s.db.Layer.Forget()
		}
	})
	both.Go(func() {
		for range 100 {
			if pending, err := s.db.Layer.Pending(t.Context()); pending || err != nil {
				t.Errorf("pending: %t, %v; want false, nil", pending, err)
				return
			}
		}
	})
	both.Wait()
}
