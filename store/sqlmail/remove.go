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
		err := s.db.Update(ctx, func(ctx context.Context, x tx) (err error) {
			sums := tally{}
			if more, err = dropWaiting(ctx, x, key, sums.of(key)); err != nil {
				return err
			}
			return sums.write(ctx, x)
		})
		if err != nil {
			return nil, err
		}
	}
	err = s.db.Update(ctx, func(ctx context.Context, x tx) error {
		blobs = nil
		a, err := lockAgent(ctx, x, key)
		if err != nil {
			return err
		}
		sums := tally{}
		sum := sums.of(key)
		if err := (tagSync{key: key, was: shown(a), retag: true}).write(ctx, x); err != nil {
			return err
		}
		for more := true; more; { // messages that have arrived in the meantime
			if more, err = dropWaiting(ctx, x, key, sum); err != nil {
				return err
			}
		}
		err = x.Returning(ctx, "DELETE FROM relay_blobs WHERE owner = ? RETURNING id, size", []any{key[:]}, func(scan scan) error {
			var id string
			var size int64
			err := scan(&id, &size)
			blobs = append(blobs, id)
			sum.blobs--
			sum.blobBytes -= size
			return err
		})
		if err != nil {
			return err
		}
		n, err := dropWebhook(ctx, x, key)
		if err != nil {
			return err
		}
		sum.webhooks -= n
		for _, query := range []string{
			"DELETE FROM relay_acl WHERE owner = ?", "DELETE FROM relay_keys WHERE sender = ?", "DELETE FROM relay_agents WHERE agent = ?",
		} {
			if _, err := x.Exec(ctx, query, key[:]); err != nil {
				return err
			}
		}
		sum.agents--
		return sums.write(ctx, x)
	})
	if err != nil {
		return nil, err
	}
	return blobs, nil
}

// dropWaiting deletes a batch of the messages that wait for an agent, subtracts them from sum, and reports whether there are more.
func dropWaiting(ctx context.Context, x tx, key mail.Key, sum *change) (more bool, err error) {
	if err := lockBox(ctx, x, key); err != nil {
		return false, err
	}
	var b batch
	err = x.Rows(ctx, "SELECT id, size FROM relay_messages WHERE recipient = ? AND state = 'sent' ORDER BY created_at, id "+
		limited(batchRows+1), []any{key[:]}, func(scan scan) error {
		var id string
		var size int64
		err := scan(&id, &size)
		more = !b.add(id, size) || more
		return err
	})
	if err != nil || len(b.ids) == 0 {
		return false, err
	}
	if err := chunked(b.ids, func(some []string) error {
		_, err := x.Exec(ctx, "DELETE FROM relay_messages WHERE id IN ("+marks(len(some), "?")+")", anys(some)...)
		return err
	}); err != nil {
		return false, err
	}
	n := int64(len(b.ids))
	sum.messages -= n
	sum.waiting -= n
	sum.bytes -= b.bytes
	if err := forgetPostings(ctx, x, b.ids); err != nil {
		return false, err
	}
	if err := forgetAttachments(ctx, x, b.ids); err != nil {
		return false, err
	}
	_, err = x.Exec(ctx, "UPDATE relay_boxes SET waiting = waiting - ? WHERE recipient = ?", n, key[:])
	return more, err
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
func forgetAttachments(ctx context.Context, x tx, ids []string) error {
	return chunked(ids, func(some []string) error {
		_, err := x.Exec(ctx, "DELETE FROM relay_attachments WHERE message IN ("+marks(len(some), "?")+")", anys(some)...)
		return err
	})
}
