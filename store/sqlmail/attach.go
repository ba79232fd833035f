package sqlmail

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/uimgate/uimgate/store/mail"
)

// attach finds the blobs that the sender attaches, keeps them as long as the message, and says in the message what they are.
func (d *dispatch) attach(ctx context.Context) error {
	if len(d.m.Blobs) == 0 {
		return nil
	}
	found := map[string]mail.Blob{}
	ids := slices.Compact(slices.Sorted(slices.Values(d.m.Blobs)))
	for _, id := range ids {
		b, err := d.blob(ctx, id)
		if err != nil {
			return err
		}
		found[id] = b
	}
	expires := nanos(d.m.ExpiresAt)
	for _, id := range ids {
		if _, err := d.x.Exec(ctx, "UPDATE relay_blobs SET expires_at = ? WHERE id = ? AND expires_at < ?", expires, id, expires); err != nil {
			return err
		}
		if _, err := d.x.Exec(ctx, "INSERT INTO relay_attachments (message, blob, recipient, expires_at) VALUES (?, ?, ?, ?)",
			d.m.ID, id, d.m.Recipient[:], expires); err != nil {
			return err
		}
	}
	list, err := described(d.m.Attachments, d.m.Blobs, found)
	d.m.Attachments = list
	return err
}

// blob locks a blob that the sender can read.
func (d *dispatch) blob(ctx context.Context, id string) (b mail.Blob, err error) {
	if !plain(id) {
		return mail.Blob{}, mail.ErrNoBlob
	}
	found := false
	err = d.x.Rows(ctx, "SELECT "+blobColumns+" FROM relay_blobs b WHERE b.id = ? AND b.expires_at > ? FOR UPDATE", []any{id, d.now},
		func(scan scan) error {
			found = true
			b, err = scanBlob(scan)
			return err
		})
	if err == nil && found && b.Owner != d.m.Sender {
		var one int
		found, err = d.x.Row(ctx, readers, []any{id, d.m.Sender[:], d.now}, &one)
	}
	if err == nil && !found {
		err = mail.ErrNoBlob
	}
	return b, err
}

// described sets what the relay says of each blob in the objects that attach them.
func described(attachments []byte, blobs []string, found map[string]mail.Blob) ([]byte, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(attachments, &list); err != nil || len(list) != len(blobs) {
		return nil, fmt.Errorf("%d attachments of %d blobs", len(list), len(blobs))
	}
	for i, id := range blobs {
		b := found[id]
		if list[i] == nil {
			list[i] = map[string]json.RawMessage{}
		}
		for name, value := range map[string]any{
			"blob_id": id, "content_type": b.ContentType, "size": b.Size, "hash": hex.EncodeToString(b.Hash[:]),
		} {
			text, err := json.Marshal(value)
			if err != nil {
				return nil, err
			}
			list[i][name] = text
		}
	}
	return json.Marshal(list)
}
