package sqlmail

import (
	"context"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const blobColumns = "b.id, b.owner, b.hash, b.size, b.content_type, b.created_at, b.expires_at"

func scanBlob(scan scan) (b mail.Blob, err error) {
	err = scan(&b.ID, keyTo(&b.Owner), keyTo(&b.Hash), &b.Size, textTo(&b.ContentType), timeTo(&b.CreatedAt), timeTo(&b.ExpiresAt))
	return b, err
}

// AddBlob records a blob whose contents are already stored, and returns the total size of its owner's blobs in bytes. The error is
// mail.ErrNotFound if the owner is not an agent, and mail.ErrFull if the blobs of all owners would have too many bytes. It is
// mail.ErrOverQuota if the blob exceeds the quota of its owner; used is then the total size without the blob.
func (s *Store) AddBlob(ctx context.Context, b mail.Blob, most mail.BlobBounds) (used int64, err error) {
	err = s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		var count, all int64
		found := x.Find(ctx, "SELECT blobs, blob_bytes FROM relay_agents WHERE agent = ? FOR UPDATE", []any{b.Owner[:]}, &count, &used)
		x.Find(ctx, "SELECT "+total("blob_bytes"), nil, &all)
		switch {
		case !found:
			return mail.ErrNotFound
		case count >= most.Count || b.Size > most.Bytes-used:
			return mail.ErrOverQuota
		case b.Size > most.All-all:
			return mail.ErrFull
		}
		x.Run(ctx, "INSERT INTO relay_blobs (id, owner, hash, size, content_type, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
			b.ID, b.Owner[:], b.Hash[:], b.Size, []byte(b.ContentType), nanos(b.CreatedAt), nanos(b.ExpiresAt))
		used += b.Size
		disown(ctx, x, b.Owner, -1, -b.Size)
		return nil
	})
	return used, err
}

// disown subtracts blobs from the totals of their owner and of the relay.
func disown(ctx context.Context, x tx, owner mail.Key, blobs, size int64) {
	x.Run(ctx, "UPDATE relay_agents SET blobs = blobs - ?, blob_bytes = blob_bytes - ?, blank = 0 WHERE agent = ?", blobs, size, owner[:])
	sums := tally{}
	sums.of(owner).blobs, sums.of(owner).blobBytes = -blobs, -size
	sums.write(ctx, x)
}

// Blob returns a blob that has not expired, or mail.ErrNotFound.
func (s *Store) Blob(ctx context.Context, id string) (b mail.Blob, err error) {
	if !plain(id) {
		return mail.Blob{}, mail.ErrNotFound
	}
	return engine.First(ctx, s.db, mail.ErrNotFound, "SELECT "+blobColumns+" FROM relay_blobs b WHERE b.id = ? AND b.expires_at > ?",
		[]any{id, nanos(s.Now())}, scanBlob)
}

// readers finds a message that permits an agent to read a blob that the agent does not own: an unexpired message that attaches the blob and
// is addressed to the agent.
const readers = "SELECT 1 FROM relay_attachments WHERE blob = ? AND recipient = ? AND expires_at > ? LIMIT 1"

// ReadableBlob is like Blob, but the error is mail.ErrForbidden if the agent may not read the blob. Its owner may read it, and so may the
// recipients of unexpired messages that attach it.
func (s *Store) ReadableBlob(ctx context.Context, id string, key mail.Key) (mail.Blob, error) {
	b, err := s.Blob(ctx, id)
	if err != nil || b.Owner == key {
		return b, err
	}
	found, err := s.db.One(ctx, readers, []any{id, key[:], nanos(s.Now())}, new(int))
	switch {
	case err != nil:
		return mail.Blob{}, err
	case !found:
		return mail.Blob{}, mail.ErrForbidden
	}
	return b, nil
}

// BlobUse returns the number of blobs that an agent has, and their total size in bytes. Both are 0 if the agent does not exist.
func (s *Store) BlobUse(ctx context.Context, owner mail.Key) (count, bytes int64, err error) {
	_, err = s.db.One(ctx, "SELECT blobs, blob_bytes FROM relay_agents WHERE agent = ?", []any{owner[:]}, &count, &bytes)
	return count, bytes, err
}

// DeleteBlob removes the record of a blob. The caller then deletes its contents. The error is mail.ErrNotFound if there is no such blob,
// mail.ErrForbidden if another agent owns it, and mail.ErrReferenced if a message that has not expired attaches it.
func (s *Store) DeleteBlob(ctx context.Context, id string, owner mail.Key) error {
	if !plain(id) {
		return mail.ErrNotFound
	}
	return s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		x.Find(ctx, lockAgentRow, []any{owner[:]})
		var whose mail.Key
		var size int64
		now := nanos(x.Now())
		found := x.Find(ctx, "SELECT owner, size FROM relay_blobs WHERE id = ? AND expires_at > ? FOR UPDATE", []any{id, now},
			keyTo(&whose), &size)
		switch {
		case !found:
			return mail.ErrNotFound
		case whose != owner:
			return mail.ErrForbidden
		case x.Find(ctx, "SELECT 1 FROM relay_attachments WHERE blob = ? AND expires_at > ? LIMIT 1", []any{id, now}):
			return mail.ErrReferenced
		}
		x.Run(ctx, "DELETE FROM relay_blobs WHERE id = ?", id)
		disown(ctx, x, owner, 1, size)
		return nil
	})
}

// Blobs lists blobs that have not expired, ordered by id. If owner is nil, it lists those of all owners. The list begins after the given
// id.
func (s *Store) Blobs(ctx context.Context, owner *mail.Key, after string, limit int) (list []mail.Blob, more bool, err error) {
	query, args := "SELECT "+blobColumns+" FROM relay_blobs b WHERE b.id > ? AND b.expires_at > ?", []any{after, nanos(s.Now())}
	if owner != nil {
		query, args = query+" AND b.owner = ?", append(args, owner[:])
	}
	return page(ctx, s, limit, scanBlob, query+" ORDER BY b.id LIMIT ?", args...)
}
