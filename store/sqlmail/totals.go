package sqlmail

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/store/mail"
)

// parts is the number of rows into which the totals are divided, so that two writers rarely need the same row.
const parts = 16

// anyPart chooses the part to which the rounds of this process add their changes. Rounds run one after another, and other processes rarely
// use the same part.
func anyPart() int64 {
	var b [1]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(b[0] % parts)
}

func partOf(k mail.Key) int64 { return int64(k[0] % parts) }

// A tally contains the changes of a transaction to the totals, by part.
type tally map[int64]*change

type change struct{ agents, waiting, messages, bytes, blobs, blobBytes, webhooks int64 }

// of returns the change of the part that counts the data of a key: its agent, the messages for it, its blobs and its webhook.
func (t tally) of(k mail.Key) *change {
	part := partOf(k)
	if t[part] == nil {
		t[part] = &change{}
	}
	return t[part]
}

// written returns the command that adds a change to a part, or nothing if there is no change.
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

// write adds the changes to the totals. It must be the last step of a transaction.
func (t tally) write(ctx context.Context, x tx) {
	for _, part := range slices.Sorted(maps.Keys(t)) {
		for _, c := range t[part].written(part) {
			x.Run(ctx, c.Query, c.Args...)
		}
	}
}

// total returns the SQL expression for the sum of a column of the totals.
func total(column string) string {
	return "(SELECT CAST(COALESCE(SUM(" + column + "), 0) AS BIGINT) FROM relay_totals)"
}

// Totals returns the totals of the relay's data.
func (s *Store) Totals(ctx context.Context) (t mail.Totals, err error) {
	_, err = s.db.One(ctx, "SELECT "+total("agents")+", "+total("waiting")+", "+total("messages")+", "+total("bytes")+", "+
		total("blobs")+", "+total("blob_bytes")+", "+total("webhooks"), nil,
		&t.Agents, &t.Waiting, &t.Messages, &t.Bytes, &t.Blobs, &t.BlobBytes, &t.Webhooks)
	return t, err
}
