package sqlmail

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// boxKept is how long the time of the last message for a recipient is remembered if no messages are waiting.
const boxKept = 24 * time.Hour

// Sweep deletes expired data, at most limit rows of each kind, and each kind in separate transactions. It deletes expired signatures and
// idempotency keys, idle agents (see Options.Idle), and boxes that were empty for a day. It also deletes delivered messages that have
// expired, undelivered messages a day after they have expired, and expired blobs. It returns the ids of the blobs, so that the caller can
// delete their contents. more means that Sweep should be called again. Several processes may call it concurrently.
func (s *Store) Sweep(ctx context.Context, limit int) (blobs []string, more bool, err error) {
	now, rows := s.Now(), limited(limit)
	for _, expiry := range []struct {
		query string
		at    time.Time
	}{
		{"DELETE FROM relay_signatures WHERE (agent, signature) IN (SELECT agent, signature FROM relay_signatures WHERE until <= ? " +
			"ORDER BY until " + rows + " FOR UPDATE SKIP LOCKED)", now},
		{"DELETE FROM relay_keys WHERE (sender, idem_key) IN (SELECT sender, idem_key FROM relay_keys WHERE until <= ? " +
			"ORDER BY until " + rows + " FOR UPDATE SKIP LOCKED)", now},
		{"DELETE FROM relay_boxes WHERE recipient IN (SELECT recipient FROM relay_boxes WHERE waiting = 0 AND last_at <= ? " +
			"ORDER BY last_at " + rows + " FOR UPDATE SKIP LOCKED)", now.Add(-boxKept)},
	} {
		n, err := s.db.Run(ctx, expiry.query, nanos(expiry.at))
		if err != nil {
			return nil, false, err
		}
		more = more || n >= int64(limit)
	}
	for _, sweep := range []func(context.Context, int) (bool, error){s.sweepAgents, s.sweepMessages} {
		further, err := sweep(ctx, limit)
		if err != nil {
			return nil, false, err
		}
		more = more || further
	}
	blobs, further, err := s.sweepBlobs(ctx, limit)
	return blobs, more || further, err
}

// sweepAgents deletes idle agents without data.
func (s *Store) sweepAgents(ctx context.Context, limit int) (more bool, err error) {
	if s.opts.Idle <= 0 {
		return false, nil
	}
	err = s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		sums, n := tally{}, 0
		for row := range x.Query(ctx, "DELETE FROM relay_agents WHERE agent IN (SELECT agent FROM relay_agents WHERE blank = 1 AND "+
			"last_active_at <= ? ORDER BY last_active_at "+limited(limit)+" FOR UPDATE SKIP LOCKED) RETURNING agent",
			nanos(x.Now().Add(-s.opts.Idle))) {
			var key mail.Key
			row(keyTo(&key))
			sums.of(key).agents--
			n++
		}
		more = n >= limit
		sums.write(ctx, x)
		return nil
	})
	return more, err
}

// limited returns a LIMIT clause with the limit as a literal. A query planner that does not know the limit would read the whole table.
func limited(n int) string { return "LIMIT " + strconv.Itoa(n) }

// sweepMessages marks waiting messages as expired when they are due, and deletes all other messages that are due. It finds the messages
// outside the transactions that change them, so that those transactions can lock the boxes first.
func (s *Store) sweepMessages(ctx context.Context, limit int) (more bool, err error) {
	var waiting, done []batch
	boxes, found := map[string]mail.Key{}, 0
	err = s.db.List(ctx, "SELECT id, recipient, state, size FROM relay_messages WHERE due_at <= ? ORDER BY due_at "+limited(limit),
		[]any{nanos(s.Now())}, func(scan scan) error {
			var id, state string
			var recipient mail.Key
			var size int64
			if err := scan(&id, keyTo(&recipient), &state, &size); err != nil {
				return err
			}
			found++
			if state != mail.Sent {
				done = batched(done, id, size)
				return nil
			}
			waiting = batched(waiting, id, size)
			boxes[id] = recipient
			return nil
		})
	if err != nil {
		return false, err
	}
	for _, b := range waiting {
		if err := s.expire(ctx, b.ids, boxes); err != nil {
			return false, err
		}
	}
	for _, b := range done {
		if err := s.deleteMessages(ctx, b.ids); err != nil {
			return false, err
		}
	}
	return found >= limit, nil
}

// batched adds a message to the last batch or, if that is full, to a new one.
func batched(list []batch, id string, size int64) []batch {
	if n := len(list); n > 0 && list[n-1].add(id, size) {
		return list
	}
	return append(list, batch{ids: []string{id}, bytes: size})
}

// expire marks messages as expired, unless they were delivered in the meantime. boxes contains their recipients, by id.
func (s *Store) expire(ctx context.Context, ids []string, boxes map[string]mail.Key) error {
	keys := make([]mail.Key, len(ids))
	for i, id := range ids {
		keys[i] = boxes[id]
	}
	keys = sortedKeys(keys)
	return s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		for _, key := range keys {
			lockBox(ctx, x, key)
		}
		gone := map[mail.Key]int64{}
		for _, some := range chunked(ids) {
			for row := range x.Query(ctx, "UPDATE relay_messages SET state = 'expired', due_at = expires_at + ? WHERE id IN ("+
				marks(len(some), "?")+") AND CASE WHEN state = 'sent' AND expires_at <= ? THEN 1 ELSE 0 END = 1 RETURNING recipient",
				append(anys(some, int64(expiredKept)), nanos(x.Now()))...) {
				var recipient mail.Key
				row(keyTo(&recipient))
				gone[recipient]++
			}
		}
		forgetPostings(ctx, x, ids)
		sums := tally{}
		for _, key := range keys {
			if n := gone[key]; n > 0 {
				sums.of(key).waiting -= n
				x.Run(ctx, "UPDATE relay_boxes SET waiting = waiting - ? WHERE recipient = ?", n, key[:])
			}
		}
		sums.write(ctx, x)
		return nil
	})
}

// deleteMessages deletes the given messages, except those that are waiting or no longer due for deletion.
func (s *Store) deleteMessages(ctx context.Context, ids []string) error {
	slices.Sort(ids)
	return s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		sums := tally{}
		var gone []string
		for _, some := range chunked(ids) {
			for row := range x.Query(ctx, "DELETE FROM relay_messages WHERE id IN ("+marks(len(some), "?")+") "+
				"AND CASE WHEN state <> 'sent' AND due_at <= ? THEN 1 ELSE 0 END = 1 RETURNING id, recipient, size",
				append(anys(some), nanos(x.Now()))...) {
				var id string
				var recipient mail.Key
				var bytes int64
				row(&id, keyTo(&recipient), &bytes)
				gone = append(gone, id)
				sum := sums.of(recipient)
				sum.messages--
				sum.bytes -= bytes
			}
		}
		forgetAttachments(ctx, x, gone)
		sums.write(ctx, x)
		return nil
	})
}

// sweepBlobs deletes the records of blobs that have expired, and returns their ids.
func (s *Store) sweepBlobs(ctx context.Context, limit int) (gone []string, more bool, err error) {
	type blob struct {
		id    string
		owner mail.Key
	}
	all, err := engine.All(ctx, s.db, "SELECT id, owner FROM relay_blobs WHERE expires_at <= ? ORDER BY expires_at "+limited(limit),
		[]any{nanos(s.Now())}, func(scan scan) (e blob, err error) {
			err = scan(&e.id, keyTo(&e.owner))
			return e, err
		})
	if err != nil || len(all) == 0 {
		return nil, false, err
	}
	slices.SortFunc(all, func(a, b blob) int { return bytes.Compare(a.owner[:], b.owner[:]) })
	err = s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		gone = nil
		sums := tally{}
		for _, e := range all {
			x.Find(ctx, lockAgentRow, []any{e.owner[:]})
			// None if another process has deleted it, or a message now attaches it.
			for _, size := range slices.Collect(engine.Values[int64](ctx, x,
				"DELETE FROM relay_blobs WHERE id = ? AND expires_at <= ? RETURNING size", e.id, nanos(x.Now()))) {
				x.Run(ctx, "UPDATE relay_agents SET blobs = blobs - 1, blob_bytes = blob_bytes - ? WHERE agent = ?", size, e.owner[:])
				sum := sums.of(e.owner)
				sum.blobs--
				sum.blobBytes -= size
				gone = append(gone, e.id)
			}
		}
		sums.write(ctx, x)
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	return gone, len(all) >= limit, nil
}
