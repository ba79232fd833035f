package sqlmail

import (
	"context"

	"github.com/uimgate/uimgate/store/mail"
)

// A box holds the data that a round has read about the messages for one recipient. The round has locked the row of the box.
type box struct {
	waiting int64 // number of waiting messages, including changes by the round
	last    int64 // when the last message was accepted
	changed bool
}

// prepare locks the boxes of all turns that are not refused, and reads the data for checking their messages.
func (r *round) prepare(ctx context.Context) error {
	var keys []mail.Key
	for _, t := range r.callers {
		switch {
		case t.err != nil:
		case t.send != nil:
			r.sends = append(r.sends, &dispatch{r: r, t: t, m: *t.send})
			keys = append(keys, t.send.Recipient)
		case t.delivered != nil:
			keys = append(keys, t.recipient)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	list := append(r.first, r.lock(sortedKeys(keys))...) //nolint:gocritic // first is no longer needed
	r.first = nil
	for _, d := range r.sends {
		if d.m.IdempotencyKey != "" {
			list = append(list, d.used())
		}
	}
	list = append(list, held(r.sends)...)
	if len(r.sends) > 0 {
		list = append(list, command{
			Query: "SELECT " + total("messages") + ", " + total("bytes"),
			Row:   func(scan scan) error { return scan(&r.messages, &r.bytes) },
		})
	}
	if err := r.x.Send(ctx, list); err != nil {
		return err
	}
	return r.firstMessages(ctx)
}

// lock returns the commands that lock and read boxes.
func (r *round) lock(keys []mail.Key) (list []command) {
	sought(blobsOf(keys), func(marks string, args []any) {
		list = append(list, command{
			Query: "SELECT recipient, waiting, last_at FROM relay_boxes WHERE recipient IN (" + marks + ") ORDER BY recipient FOR UPDATE",
			Args:  args, Row: func(scan scan) error {
				var key mail.Key
				var b box
				err := scan(keyTo(&key), &b.waiting, &b.last)
				r.boxes[key] = &b
				return err
			},
		})
	})
	return list
}

// firstMessages creates and locks the boxes of recipients that have none.
func (r *round) firstMessages(ctx context.Context) error {
	for {
		var missing []mail.Key
		for _, d := range r.sends {
			if r.boxes[d.m.Recipient] == nil && d.earlier == nil {
				missing = append(missing, d.m.Recipient)
			}
		}
		if missing = sortedKeys(missing); len(missing) == 0 {
			return nil
		}
		var list []command
		for _, some := range divided(missing) {
			list = append(list, command{
				Query: "INSERT INTO relay_boxes (recipient, waiting, last_at) VALUES " + marks(len(some), "(?, 0, 0)") +
					" ON CONFLICT (recipient) DO NOTHING", Args: blobsOf(some),
			})
		}
		if err := r.x.Send(ctx, append(list, r.lock(missing)...)); err != nil {
			return err
		}
	}
}

// changedBoxes returns the commands that write the changed boxes.
func (r *round) changedBoxes() (list []command) {
	var keys []mail.Key
	for key, b := range r.boxes {
		if b.changed {
			keys = append(keys, key)
		}
	}
	for _, some := range divided(sortedKeys(keys)) {
		var args []any
		for _, key := range some {
			args = append(args, key[:], r.boxes[key].waiting, r.boxes[key].last)
		}
		list = append(list, command{
			Query: "INSERT INTO relay_boxes (recipient, waiting, last_at) VALUES " + marks(len(some), "(?, ?, ?)") +
				" ON CONFLICT (recipient) DO UPDATE SET waiting = excluded.waiting, last_at = excluded.last_at", Args: args,
		})
	}
	return list
}

// lockBox locks the box of a recipient, if there is one.
func lockBox(ctx context.Context, x tx, recipient mail.Key) {
	x.Find(ctx, "SELECT waiting FROM relay_boxes WHERE recipient = ? FOR UPDATE", []any{recipient[:]})
}

// ensureBox is like lockBox, but creates the box if there is none.
func ensureBox(ctx context.Context, x tx, recipient mail.Key) {
	for x.Err() == nil && !x.Find(ctx, "SELECT 1 FROM relay_boxes WHERE recipient = ? FOR UPDATE", []any{recipient[:]}) {
		x.Run(ctx, "INSERT INTO relay_boxes (recipient, waiting, last_at) VALUES (?, 0, 0) ON CONFLICT (recipient) DO NOTHING", recipient[:])
	}
}
