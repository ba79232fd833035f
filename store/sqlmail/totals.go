package sqlmail

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/store/mail"
)

// parts is the number of rows that the totals are divided into: two writers rarely need the same.
const parts = 16

// anyPart is the part to which a process adds what its rounds change: they run one after another, and other processes rarely use the
// same.
func anyPart() int64 {
	var b [1]byte
	_, _ = rand.Read(b[:]) // it never fails
	return int64(b[0] % parts)
}

func partOf(k mail.Key) int64 { return int64(k[0] % parts) }

// A tally is what a transaction adds to the totals, by part.
type tally map[int64]*change

type change struct{ agents, waiting, messages, bytes, blobs, blobBytes, webhooks int64 }

// of returns the part for changes of a key: its agent, the messages for it, its blobs and its webhook.
func (t tally) of(k mail.Key) *change {
	part := partOf(k)
	if t[part] == nil {
		t[part] = &change{}
	}
	return t[part]
}

// written returns the statement that adds a change to a part; none if nothing changes.
func (c change) written(part int64) []command {
	if c == (change{}) {
		return nil
	}
	return []command{{
		Query: `INSERT INTO relay_totals (part, agents, waiting, messages, bytes, blobs, blob_bytes, webhooks)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (part) DO UPDATE SET agents = relay_totals.agents + excluded.agents,
			waiting = relay_totals.waiting + excluded.waiting, messages = relay_totals.messages + excluded.messages,
			bytes = relay_totals.bytes + excluded.bytes, blobs = relay_totals.blobs + excluded.blobs,
			blob_bytes = relay_totals.blob_bytes + excluded.blob_bytes, webhooks = relay_totals.webhooks + excluded.webhooks`,
		Args: []any{part, c.agents, c.waiting, c.messages, c.bytes, c.blobs, c.blobBytes, c.webhooks},
	}}
}

// write is the last step of a transaction.
func (t tally) write(ctx context.Context, x tx) error {
	for _, part := range slices.Sorted(maps.Keys(t)) {
		for _, c := range t[part].written(part) {
			if _, err := x.Exec(ctx, c.Query, c.Args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// total is the sum of a column of the totals, as an expression.
func total(column string) string {
	return "(SELECT CAST(COALESCE(SUM(" + column + "), 0) AS BIGINT) FROM relay_totals)"
}

// Totals returns the amounts of the relay's data.
func (s *Store) Totals(ctx context.Context) (t mail.Totals, err error) {
	_, err = s.one(ctx, "SELECT "+total("agents")+", "+total("waiting")+", "+total("messages")+", "+total("bytes")+", "+
		total("blobs")+", "+total("blob_bytes")+", "+total("webhooks"), nil,
		&t.Agents, &t.Waiting, &t.Messages, &t.Bytes, &t.Blobs, &t.BlobBytes, &t.Webhooks)
	return t, err
}
