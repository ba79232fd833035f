package sqlmail

import (
	"context"

	"github.com/uimgate/uimgate/store/mail"
)

// Delete removes an agent and all its data: the profile, tags, access list, webhook, idempotency keys, messages that wait for it, and the
// records of its blobs. It returns the ids of the blobs, so that the caller can delete their contents. Messages that the agent has sent
// and signatures that it has used are kept until they expire. The error is mail.ErrNotFound if the agent does not exist. Messages are
// deleted first, in several transactions, so after another error some of them may have been deleted.
func (s *Store) Delete(ctx context.Context, key mail.Key) (blobs []string, err error) {
	if _, err := s.Agent(ctx, key); err != nil {
		return nil, err
	}
	for more := true; more; {
		err := s.db.Aside(ctx, func(ctx context.Context, x tx) error {
			sums := tally{}
			more = dropWaiting(ctx, x, key, sums.of(key))
			sums.write(ctx, x)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	err = s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		blobs = nil
		a, err := lockAgent(ctx, x, key)
		if err != nil {
			return err
		}
		sums := tally{}
		sum := sums.of(key)
		tagSync{key: key, was: shown(a), retag: true}.write(ctx, x)
		for more := true; more; { // messages that have arrived in the meantime
			more = dropWaiting(ctx, x, key, sum)
		}
		for row := range x.Query(ctx, "DELETE FROM relay_blobs WHERE owner = ? RETURNING id, size", key[:]) {
			var id string
			var size int64
			row(&id, &size)
			blobs = append(blobs, id)
			sum.blobs--
			sum.blobBytes -= size
		}
		sum.webhooks -= dropWebhook(ctx, x, key)
		for _, query := range []string{
			"DELETE FROM relay_acl WHERE owner = ?", "DELETE FROM relay_keys WHERE sender = ?", "DELETE FROM relay_agents WHERE agent = ?",
		} {
			x.Run(ctx, query, key[:])
		}
		sum.agents--
		sums.write(ctx, x)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return blobs, nil
}

// dropWaiting deletes a batch of the messages that wait for an agent, subtracts them from sum, and reports whether there are more.
func dropWaiting(ctx context.Context, x tx, key mail.Key, sum *change) (more bool) {
	lockBox(ctx, x, key)
	var b batch
	for row := range x.Query(ctx, "SELECT id, size FROM relay_messages WHERE recipient = ? AND state = 'sent' ORDER BY created_at, id "+
		limited(batchRows+1), key[:]) {
		var id string
		var size int64
		row(&id, &size)
		more = !b.add(id, size) || more
	}
	for _, some := range chunked(b.ids) {
		x.Run(ctx, "DELETE FROM relay_messages WHERE id IN ("+marks(len(some), "?")+")", anys(some)...)
	}
	n := int64(len(b.ids))
	sum.messages -= n
	sum.waiting -= n
	sum.bytes -= b.bytes
	forgetPostings(ctx, x, b.ids)
	forgetAttachments(ctx, x, b.ids)
	if n > 0 {
		x.Run(ctx, "UPDATE relay_boxes SET waiting = waiting - ? WHERE recipient = ?", n, key[:])
	}
	return more && x.Err() == nil
}

// A batch is a set of messages that one transaction changes or deletes. It is so small that other transactions do not wait for long.
type batch struct {
	ids   []string
	bytes int64
}

// batchRows limits the number of messages in a batch. A batch is also full when its size reaches pageBytes.
const batchRows = 100

// add adds a message if there is space for it, and reports whether it did.
func (b *batch) add(id string, size int64) bool {
	if len(b.ids) == batchRows || b.bytes >= pageBytes {
		return false
	}
	b.ids, b.bytes = append(b.ids, id), b.bytes+size
	return true
}

// forgetAttachments removes the attachments of messages.
func forgetAttachments(ctx context.Context, x tx, ids []string) {
	for _, some := range chunked(ids) {
		x.Run(ctx, "DELETE FROM relay_attachments WHERE message IN ("+marks(len(some), "?")+")", anys(some)...)
	}
}
