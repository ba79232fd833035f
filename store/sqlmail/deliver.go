package sqlmail

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// Delivered records that a recipient has received messages. It ignores the ids of messages that do not wait for the recipient.
func (s *Store) Delivered(ctx context.Context, recipient mail.Key, ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !plain(id) })
	if len(ids) == 0 {
		return nil
	}
	return s.take(ctx, &turn{recipient: recipient, delivered: ids})
}

// deliver records the deliveries of a round.
func (r *round) deliver(ctx context.Context) error {
	var list []command
	for _, t := range r.callers {
		b := r.boxes[t.recipient]
		if t.delivered == nil || b == nil {
			continue // without a box, no messages are waiting
		}
		list = append(list, deliveries(t.recipient, t.delivered, r.now, func(id string) {
			r.rows.delivered = append(r.rows.delivered, id)
			r.sum.waiting--
			b.waiting, b.changed = b.waiting-1, true
		})...)
	}
	if len(list) == 0 {
		return nil
	}
	return r.x.Send(ctx, list)
}

// deliveries returns the commands that record deliveries. They call the function each for every message that was waiting.
func deliveries(recipient mail.Key, ids []string, now int64, each func(id string)) (list []command) {
	sought(anys(ids), func(marks string, args []any) {
		list = append(list, command{
			Query: "UPDATE relay_messages SET state = 'delivered', delivered_at = ? WHERE id IN (" + marks + ") " +
				"AND CASE WHEN recipient = ? AND state = 'sent' AND expires_at > ? THEN 1 ELSE 0 END = 1 RETURNING id",
			Args: append(append([]any{now}, args...), recipient[:], now), Row: func(scan scan) error {
				var id string
				err := scan(&id)
				each(id)
				return err
			},
		})
	})
	return list
}

// deliver is like Delivered, for one message in a transaction that has locked the box.
func deliver(ctx context.Context, x tx, recipient mail.Key, id string) {
	var done []string
	for _, c := range deliveries(recipient, []string{id}, nanos(x.Now()), nil) {
		done = slices.AppendSeq(done, engine.Values[string](ctx, x, c.Query, c.Args...))
	}
	if len(done) == 0 {
		return
	}
	forgetPostings(ctx, x, done)
	x.Run(ctx, "UPDATE relay_boxes SET waiting = waiting - 1 WHERE recipient = ?", recipient[:])
	sums := tally{}
	sums.of(recipient).waiting--
	sums.write(ctx, x)
}

// forgetPostings removes the pending deliveries of messages to webhooks.
func forgetPostings(ctx context.Context, x tx, ids []string) {
	for _, some := range chunked(ids) {
		x.Run(ctx, "DELETE FROM relay_postings WHERE message IN ("+marks(len(some), "?")+")", anys(some)...)
	}
}
