package sqlmail

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/store/mail"
)

const (
	// settled is after how long every transaction has ended in which a message was taken, and by how much clocks may differ.
	settled = 10 * time.Second
	// wokenAtOnce times wokenSteps bounds the messages that one call of Woken looks at.
	wokenAtOnce = 1000
	wokenSteps  = 10
)

// Woken returns for whom messages wait that were taken since a moment, by whatever process, and the moment for the next call. It is for
// processes that share a database, and reads no more than the new messages. A message is returned for ten seconds, in which all that
// was taken before it is committed.
func (s *Store) Woken(ctx context.Context, since time.Time) (keys []mail.Key, next time.Time, err error) {
	now, from := s.Now(), nanos(since.Add(-settled))
	seen := map[mail.Key]struct{}{}
	for range wokenSteps {
		n := 0
		err := s.db.Rows(ctx, "SELECT recipient, state, created_at FROM relay_messages WHERE created_at > ? ORDER BY created_at, id "+
			limited(wokenAtOnce), []any{from}, func(scan scan) error {
			var recipient []byte
			var state string
			if err := scan(&recipient, &state, &from); err != nil {
				return err
			}
			n++
			key := keyFrom(recipient)
			if _, known := seen[key]; !known && state == mail.Sent {
				seen[key] = struct{}{}
				keys = append(keys, key)
			}
			return nil
		})
		if err != nil {
			return nil, since, err
		}
		if n < wokenAtOnce {
			return keys, now, nil
		}
	}
	return keys, fromNanos(from).Add(settled), nil
}
