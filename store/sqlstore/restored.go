package sqlstore

import (
	"context"

	"github.com/uimgate/uimgate/pat"
)

// MarkRestored must be called once after the state was set back to an earlier one, while no gateway uses it: every PAT
// issued before ends, signing keys too, and every rolling or calendar window of a policy's limit that began before counts
// as used up until it is over. Lifetime counters and limits of the service's own (limit.Token, limit.Ceiling) go on from
// the restored count. PATs end with the keys that signed them, so those without a
// record in the database end too; a process whose key has ended makes a new one when it starts.
func (s *Store) MarkRestored(ctx context.Context) error {
	return s.update(ctx, func(ctx context.Context, t *tx) error {
		seq, err := t.nextChange(ctx)
		if err != nil {
			return err
		}
		now, floor := nanos(t.now), nanos(t.counted)
		if _, err := t.exec(ctx, "UPDATE sequences SET n = ? WHERE name = 'restored'", floor); err != nil {
			return err
		}
		if _, err := t.exec(ctx, "UPDATE signing_keys SET not_after = ?, seq = ? WHERE not_after = 0 OR not_after > ?", now, seq,
			now); err != nil {
			return err
		}
		_, err = t.exec(ctx, `INSERT INTO revocations (service, kind, subject, at, until, reason, seq)
			SELECT service, CAST(? AS TEXT), digest, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS BIGINT) FROM policies `+
			`WHERE true
			ON CONFLICT (service, kind, subject) DO UPDATE SET at = excluded.at, until = excluded.until, reason = excluded.reason, seq = `+
			`excluded.seq`,
			string(pat.RevokedPolicy), now, nanos(t.now.Add(pat.MaxTTL+s.opts.TokensKept)), "the state was restored", seq)
		t.after = append(t.after, func() { s.floor.Store(floor) })
		return err
	})
}

// readFloor reads when the database was last set back to an earlier state.
func (s *Store) readFloor(ctx context.Context) error {
	var at int64
	_, err := s.one(ctx, "SELECT n FROM sequences WHERE name = 'restored'", nil, &at)
	if err == nil {
		s.floor.Store(at)
	}
	return err
}
