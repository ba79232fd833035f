package sqlmail

import (
	"context"

	"github.com/uimgate/uimgate/store/mail"
)

// Delete removes an agent and all that is its own: profile, tags, access list, webhook, idempotency keys, the messages that wait for it,
// and the records of its blobs, whose ids are returned so that their bytes can be deleted. Messages that it sent stay until they expire,
// and so do the signatures it used. mail.ErrNotFound where there is no such agent.
func (s *Store) Delete(ctx context.Context, key mail.Key) (blobs []string, err error) {
	err = s.db.Update(ctx, func(ctx context.Context, x tx) error {
		blobs = nil
		a, found, err := agentOf(ctx, x, key, forUpdate)
		switch {
		case err != nil:
			return err
		case !found:
			return mail.ErrNotFound
		}
		sums := tally{}
		sum := sums.of(key)
		if err := (tagging{key: key, was: shown(a), retag: true}).write(ctx, x); err != nil {
			return err
		}
		if err := dropWaiting(ctx, x, key, sum); err != nil {
			return err
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

// dropWaiting deletes the messages that wait for an agent.
func dropWaiting(ctx context.Context, x tx, key mail.Key, sum *change) error {
	waiting, err := lockBox(ctx, x, key)
	if err != nil {
		return err
	}
	var ids []string
	err = x.Returning(ctx, "DELETE FROM relay_messages WHERE recipient = ? AND state = 'sent' RETURNING id, size", []any{key[:]},
		func(scan scan) error {
			var id string
			var size int64
			err := scan(&id, &size)
			ids = append(ids, id)
			sum.messages--
			sum.bytes -= size
			return err
		})
	if err != nil {
		return err
	}
	if err := forgetAttachments(ctx, x, ids); err != nil {
		return err
	}
	sum.waiting -= waiting
	_, err = x.Exec(ctx, "UPDATE relay_boxes SET waiting = 0 WHERE recipient = ?", key[:])
	return err
}

// forgetAttachments removes what messages attach.
func forgetAttachments(ctx context.Context, x tx, ids []string) error {
	return chunked(ids, func(some []string) error {
		_, err := x.Exec(ctx, "DELETE FROM relay_attachments WHERE message IN ("+marks(len(some), "?")+")", anys(some)...)
		return err
	})
}
