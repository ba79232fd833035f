package pat

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// At most as many signatures are verified at once as there are workers. A caller that waits too long is refused, and a panic releases its
// worker.
func TestSignaturesWaitForAWorker(t *testing.T) {
	before := verifying
	t.Cleanup(func() { verifying = before })
	synctest.Test(t, func(t *testing.T) {
		w := newWorkers(2)
		running, most, done, refused := 0, 0, make(chan error), 0
		release := make(chan struct{})
		var mu sync.Mutex
		count := func(change int) {
			mu.Lock()
			defer mu.Unlock()
			running += change
			most = max(most, running)
		}
		work := func() error {
			count(1)
			defer count(-1)
			<-release
			return nil
		}
		for range 5 {
			go func() { done <- w.inTurn(t.Context(), work) }()
			synctest.Wait()
		}
		for range 3 {
			if errors.Is(<-done, ErrBusy) {
				refused++
			}
		}
		close(release)
		if first, second := <-done, <-done; most != 2 || refused != 3 || first != nil || second != nil {
			t.Errorf("%d at once, %d refused, %v, %v; want 2, 3 and no error", most, refused, first, second)
		}
		func() {
			defer func() { _ = recover() }()
			_ = w.inTurn(t.Context(), func() error { panic("canary") })
		}()
		if !w.free.TryAcquire(2) {
			t.Error("a panic did not release its worker")
		}
	})
}
