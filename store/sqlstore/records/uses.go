package records

import (
	"context"
	"slices"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// usesAtOnce is the number of uses that one transaction records.
const usesAtOnce = 100

// NoteUses records when intents were called. If an intent already has a time, the later one is kept.
func (s *Records) NoteUses(ctx context.Context, uses []store.IntentUse) error {
	for part := range slices.Chunk(uses, usesAtOnce) {
		err := s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
			for _, use := range part {
				t.Run(ctx, `INSERT INTO intent_uses (service, intent, last_use, until) VALUES (?, ?, ?, ?)
					ON CONFLICT (service, intent) DO UPDATE SET last_use = excluded.last_use, until = excluded.until
					WHERE intent_uses.last_use < excluded.last_use`,
					use.Service, use.Intent, engine.Nanos(use.At), engine.Nanos(use.At.Add(store.UsesKept)))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Uses returns the intents of a service that were called at or after a time, ordered by uid.
func (s *Records) Uses(ctx context.Context, service string, since time.Time) ([]store.IntentUse, error) {
	return engine.All(ctx, s.db, "SELECT intent, last_use FROM intent_uses WHERE service = ? AND last_use >= ? ORDER BY intent",
		[]any{service, engine.Nanos(since)}, func(scan engine.Scan) (store.IntentUse, error) {
			use := store.IntentUse{Service: service}
			err := scan(&use.Intent, engine.Stored(&use.At))
			return use, err
		})
}
