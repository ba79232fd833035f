package sqlmail

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
)

// rows holds the rows that a round writes at its end. Each element has the arguments of one row.
type rows struct {
	messages, attachments, postings [][]any
	keys                            []*dispatch
	lives                           map[string]int64 // latest expiry of the messages that attach a blob, by blob
	delivered                       []string         // delivered messages, which are no longer posted
}

// add adds an accepted message.
func (w *rows) add(d *dispatch, bytes int64) {
	m := &d.m.Message
	created, expires := nanos(m.CreatedAt), nanos(m.ExpiresAt)
	w.messages = append(w.messages, []any{
		m.ID, m.Sender[:], m.Recipient[:], created, expires, expires, bytes,
		orNull(m.ThreadID), orNull(m.InReplyTo), []byte(m.ContentType), m.Attachments, m.Metadata, m.Signed, m.Body,
	})
	for _, id := range slices.Compact(slices.Sorted(slices.Values(d.m.Blobs))) {
		if w.lives == nil {
			w.lives = map[string]int64{}
		}
		w.lives[id] = max(w.lives[id], expires)
		w.attachments = append(w.attachments, []any{m.ID, id, m.Recipient[:], expires})
	}
	if d.m.IdempotencyKey != "" {
		w.keys = append(w.keys, d)
	}
	if d.inbox.webhook != nil && *d.inbox.webhook != 0 {
		w.postings = append(w.postings, []any{m.ID, m.Recipient[:], d.r.now})
	}
}

// written returns the last commands of a round.
func (r *round) written() []command {
	w := &r.rows
	list := append(r.first, insertions(`INSERT INTO relay_messages (id, sender, recipient, state, created_at, expires_at, delivered_at, 
		due_at, size, thread, reply, content_type, attachments, metadata, signed, body) VALUES `,
		"(?, ?, ?, 'sent', ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "", w.messages)...) //nolint:gocritic // first is no longer needed
	for _, id := range slices.Sorted(maps.Keys(w.lives)) {
		list = append(list, command{
			Query: "UPDATE relay_blobs SET expires_at = ? WHERE id = ? AND expires_at < ?", Args: []any{w.lives[id], id, w.lives[id]},
		})
	}
	list = append(list, insertions("INSERT INTO relay_attachments (message, blob, recipient, expires_at) VALUES ", "(?, ?, ?, ?)", "",
		w.attachments)...)
	list = append(list, r.usedKeys()...)
	list = append(list, insertions("INSERT INTO relay_postings (message, owner, attempts, due_at) VALUES ", "(?, ?, 0, ?)", "", w.postings)...)
	sought(anys(w.delivered), func(marks string, args []any) {
		list = append(list, command{Query: "DELETE FROM relay_postings WHERE message IN (" + marks + ")", Args: args})
	})
	list = append(list, r.changedBoxes()...)
	return append(list, r.sum.written(r.s.part)...)
}

// usedKeys returns the commands that store the idempotency keys of messages. If another process has used one of the keys in the meantime,
// the transaction is retried, and then finds the message of the other process.
func (r *round) usedKeys() []command {
	slices.SortFunc(r.rows.keys, func(a, b *dispatch) int {
		return cmp.Or(bytes.Compare(a.m.Sender[:], b.m.Sender[:]), cmp.Compare(a.m.IdempotencyKey, b.m.IdempotencyKey))
	})
	rows := make([][]any, len(r.rows.keys))
	for i, d := range r.rows.keys {
		m := &d.m.Message
		rows[i] = []any{
			m.Sender[:], []byte(d.m.IdempotencyKey), d.m.Digest[:], m.ID, m.Recipient[:], nanos(m.CreatedAt), nanos(m.ExpiresAt),
			r.now + int64(keyKept),
		}
	}
	list := insertions("INSERT INTO relay_keys (sender, idem_key, digest, message, recipient, created_at, expires_at, until) VALUES ",
		"(?, ?, ?, ?, ?, ?, ?, ?)", ` ON CONFLICT (sender, idem_key) DO UPDATE SET digest = excluded.digest, message = excluded.message,
		recipient = excluded.recipient, created_at = excluded.created_at, expires_at = excluded.expires_at, until = excluded.until
		WHERE relay_keys.until <= excluded.until - `+nanosOf(keyKept), rows)
	for i := range list {
		list[i].Must = len(list[i].Args) / 8
	}
	return list
}

// insertions returns INSERT commands for the rows. The commands have few different lengths, so that few statements are prepared.
func insertions(into, row, after string, rows [][]any) (list []command) {
	for _, some := range divided(rows) {
		list = append(list, command{Query: into + marks(len(some), row) + after, Args: slices.Concat(some...)})
	}
	return list
}
