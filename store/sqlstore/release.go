package sqlstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/uimgate/uimgate/store"
)

// A releaseQueue holds calls that were refused because the connection was lost during their commit. It is unknown
// whether they were begun, but they were certainly not sent, so they are released as soon as the database is available.
type releaseQueue struct {
	mu    sync.Mutex
	calls []store.Admission
	busy  bool
}

// releaseTries is how often, a second apart, a release is tried; after that the sweeper resolves what was held.
const releaseTries = 120

// release gives back what a call that was not sent may have taken. Only a call with a record can be distinguished from
// one that was never begun.
func (s *Store) release(b store.Admission) {
	if !b.Recorded {
		return
	}
	s.closing.RLock()
	defer s.closing.RUnlock()
	s.releases.mu.Lock()
	defer s.releases.mu.Unlock()
	if s.closed {
		return
	}
	s.releases.calls = append(s.releases.calls, b)
	if !s.releases.busy {
		s.releases.busy = true
		s.work.Go(s.releaseAll)
	}
}

// next removes one call, or reports that the queue is empty; then no goroutine works on it any more.
func (l *releaseQueue) next() (b store.Admission, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) == 0 {
		l.busy = false
		return b, false
	}
	b, l.calls = l.calls[0], l.calls[1:]
	return b, true
}

func (s *Store) releaseAll() {
	ctx, tries := context.Background(), 0
	for b, ok := s.releases.next(); ok; b, ok = s.releases.next() {
		for {
			_, err := s.Settle(ctx, b, store.Settlement{State: store.Released, Outcome: store.NotSent})
			if err == nil || !errors.Is(err, store.ErrUnavailable) || errors.Is(err, errClosed) {
				break
			}
			if tries++; tries > releaseTries {
				break
			}
			select {
			case <-s.ending:
			case <-time.After(time.Second):
			}
		}
	}
}
