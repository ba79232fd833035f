package sqlmail

import (
	"context"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/store/mail"
)

// parts is into how many rows the totals are divided: two writers seldom need the same.
const parts = 16

func partOf(k mail.Key) int64 { return int64(k[0] % parts) }

// A tally is what a transaction adds to the totals, by part.
type tally map[int64]*change

type change struct{ agents, waiting, messages, bytes, blobs, blobBytes, webhooks int64 }

// of returns the part that has what belongs to a key: its agent, the messages for it, its blobs and its webhook.
func (t tally) of(k mail.Key) *change {
	part := partOf(k)
	if t[part] == nil {
		t[part] = &change{}
	}
	return t[part]
}

// write is the last step of a transaction.
func (t tally) write(ctx context.Context, x tx) error {
	for _, part := range slices.Sorted(maps.Keys(t)) {
		c := *t[part]
		if c == (change{}) {
			continue
		}
		_, err := x.Exec(ctx, `INSERT INTO relay_totals (part, agents, waiting, messages, bytes, blobs, blob_bytes, webhooks)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (part) DO UPDATE SET agents = relay_totals.agents + excluded.agents,
			waiting = relay_totals.waiting + excluded.waiting, messages = relay_totals.messages + excluded.messages,
			bytes = relay_totals.bytes + excluded.bytes, blobs = relay_totals.blobs + excluded.blobs,
			blob_bytes = relay_totals.blob_bytes + excluded.blob_bytes, webhooks = relay_totals.webhooks + excluded.webhooks`,
			part, c.agents, c.waiting, c.messages, c.bytes, c.blobs, c.blobBytes, c.webhooks)
		if err != nil {
			return err
		}
	}
	return nil
}

// total is the sum of a column of the totals, as a value of a statement.
func total(column string) string {
	return "(SELECT CAST(COALESCE(SUM(" + column + "), 0) AS BIGINT) FROM relay_totals)"
}

// Totals returns how much the relay has.
func (s *Store) Totals(ctx context.Context) (t mail.Totals, err error) {
	_, err = s.one(ctx, "SELECT "+total("agents")+", "+total("waiting")+", "+total("messages")+", "+total("bytes")+", "+
		total("blobs")+", "+total("blob_bytes")+", "+total("webhooks"), nil,
		&t.Agents, &t.Waiting, &t.Messages, &t.Bytes, &t.Blobs, &t.BlobBytes, &t.Webhooks)
	return t, err
}
