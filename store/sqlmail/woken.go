package sqlmail

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/uimgate/uimgate/store/mail"
)

const (
	// settled is the time after which every transaction that accepted a message has ended. It also bounds how much clocks may differ.
	settled = 10 * time.Second
	// One call to Woken reads at most wokenAtOnce times wokenSteps messages.
	wokenAtOnce = 1000
	wokenSteps  = 10
)

// wokenMessages contains the messages that Woken has reported within the period that it reads again, and the times at which they were
// accepted.
type wokenMessages struct {
	mu   sync.Mutex
	seen map[string]int64
}

// Woken returns the recipients of undelivered messages that any process has accepted since a time, and the time for the next call. It is
// for processes that share a database. A message may be committed up to ten seconds after the time at which it was accepted, so Woken
// begins to read ten seconds before the given time. It still reports each message only once.
func (s *Store) Woken(ctx context.Context, since time.Time) (keys []mail.Key, next time.Time, err error) {
	s.wokenMessages.mu.Lock()
	defer s.wokenMessages.mu.Unlock()
	now, from := s.Now(), nanos(since.Add(-settled))
	maps.DeleteFunc(s.wokenMessages.seen, func(_ string, taken int64) bool { return taken <= from })
	seen, found := map[string]int64{}, map[mail.Key]struct{}{}
	next = now
	for step := 0; ; step++ {
		if step == wokenSteps {
			next = fromNanos(from).Add(settled)
			break
		}
		n := 0
		err := s.db.List(ctx, "SELECT id, recipient, state, created_at FROM relay_messages WHERE created_at > ? ORDER BY created_at, id "+
			limited(wokenAtOnce), []any{from}, func(scan scan) error {
			var id, state string
			var recipient mail.Key
			if err := scan(&id, keyTo(&recipient), &state, &from); err != nil {
				return err
			}
			n++
			_, before := s.wokenMessages.seen[id]
			if seen[id] = from; before || state != mail.Sent {
				return nil
			}
			if _, known := found[recipient]; !known {
				found[recipient] = struct{}{}
				keys = append(keys, recipient)
			}
			return nil
		})
		if err != nil {
			return nil, since, err
		}
		if n < wokenAtOnce {
			break
		}
	}
	if s.wokenMessages.seen == nil {
		s.wokenMessages.seen = map[string]int64{}
	}
	maps.Copy(s.wokenMessages.seen, seen)
	return keys, next, nil
}
