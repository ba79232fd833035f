package sqlmail

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/store/mail"
)

// Admit takes a signature once, and returns the agent whose it is; isNew where the agent had none before and is made, with the
// defaults of the protocol. When it was last active is kept to within touch. mail.ErrReplayed where the signature was taken before, here
// or by another process, or was made before the state was restored from a backup; mail.ErrSuspended; mail.ErrFull where the relay has
// as many agents as it may.
func (s *Store) Admit(ctx context.Context, g mail.Guard, touch time.Duration) (a mail.Agent, isNew bool, err error) {
	if restored := s.db.RestoredAt(); !g.Signed.IsZero() && !g.Signed.After(restored) {
		return mail.Agent{}, false, mail.ErrReplayed // of what was used before, the last is not known any more
	}
	var refused error
	err = s.db.Update(ctx, func(ctx context.Context, x tx) error {
		isNew, refused = false, nil
		n, err := x.Exec(ctx, "INSERT INTO relay_signatures (agent, signature, until) VALUES (?, ?, ?) "+
			"ON CONFLICT (agent, signature) DO NOTHING", g.Key[:], g.Signature[:], nanos(g.Until))
		switch {
		case err != nil:
			return err
		case n == 0:
			return mail.ErrReplayed
		}
		var found bool
		if a, found, err = agentOf(ctx, x, g.Key, ""); err != nil {
			return err
		}
		if !found {
			if isNew, err = s.begin(ctx, x, g.Key); err != nil {
				return err
			}
			if a, _, err = agentOf(ctx, x, g.Key, ""); err != nil {
				return err
			}
		}
		if a.Status == mail.Suspended {
			refused = mail.ErrSuspended // the signature is used nevertheless
			return nil
		}
		now := x.Now()
		if now.Sub(a.LastActiveAt) <= touch {
			return nil
		}
		a.LastActiveAt = fromNanos(nanos(now))
		_, err = x.Exec(ctx, "UPDATE relay_agents SET last_active_at = ? WHERE agent = ? AND last_active_at < ?",
			nanos(now), g.Key[:], nanos(now))
		return err
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return mail.Agent{}, false, err
	}
	return a, isNew, nil
}

// begin makes an agent, unless another process has just made it.
func (s *Store) begin(ctx context.Context, x tx, key mail.Key) (bool, error) {
	var agents int64
	if _, err := x.Row(ctx, "SELECT "+total("agents"), nil, &agents); err != nil {
		return false, err
	}
	if agents >= s.opts.MaxAgents {
		return false, mail.ErrFull
	}
	now := nanos(x.Now())
	n, err := x.Exec(ctx, `INSERT INTO relay_agents (agent, status, visibility, policy, shown, blank, created_at, last_active_at, entries,
		last_entry, blobs, blob_bytes, found_name, found_words, name, metadata, capabilities)
		VALUES (?, ?, ?, ?, 0, 1, ?, ?, 0, 0, 0, 0, '', '', ?, ?, ?) ON CONFLICT (agent) DO NOTHING`,
		key[:], mail.Active, mail.Private, mail.Blocklist, now, now, []byte{}, []byte("{}"), []byte("[]"))
	if err != nil || n == 0 {
		return false, err
	}
	sums := tally{}
	sums.of(key).agents++
	return true, sums.write(ctx, x)
}
