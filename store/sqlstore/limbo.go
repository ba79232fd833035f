package sqlstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/uimgate/uimgate/store"
)

// A limbo holds calls that were refused because the database went away while it committed them. Whether they were begun nobody
// knows; that they were not sent is certain, so as soon as the database is back they are released.
type limbo struct {
	mu    sync.Mutex
	calls []store.Admission
	busy  bool
}

// limboTries is how often, a second apart, a release is tried; after that the sweeper finds what was held.
const limboTries = 120

// release gives back what a call that was not sent may have taken. Only what has a record can be told from what was never begun.
func (s *Store) release(b store.Admission) {
	if !b.Recorded {
		return
	}
	s.closing.RLock()
	defer s.closing.RUnlock()
	s.limbo.mu.Lock()
	defer s.limbo.mu.Unlock()
	if s.closed {
		return
	}
	s.limbo.calls = append(s.limbo.calls, b)
	if !s.limbo.busy {
		s.limbo.busy = true
		s.work.Go(s.releaseAll)
	}
}

// next takes one out, or says that the limbo is empty and nobody works on it any more.
func (l *limbo) next() (b store.Admission, ok bool) {
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
	for b, ok := s.limbo.next(); ok; b, ok = s.limbo.next() {
		for {
			_, err := s.Settle(ctx, b, store.Settlement{State: store.Released, Outcome: store.NotSent})
			if err == nil || !errors.Is(err, store.ErrUnavailable) || errors.Is(err, errClosed) {
				break
			}
			if tries++; tries > limboTries {
				break
			}
			select {
			case <-s.ending:
			case <-time.After(time.Second):
			}
		}
	}
}
