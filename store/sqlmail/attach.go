package sqlmail

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/uimgate/uimgate/store/mail"
)

// A reader is an agent that attaches a blob of another agent.
type reader struct {
	blob string
	key  mail.Key
}

// attachable locks the blobs that the messages of a round attach, and determines which agents may attach them.
func (r *round) attachable(ctx context.Context) error {
	var ids []string
	for _, d := range r.sends {
		for _, id := range d.m.Blobs {
			if plain(id) {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	r.blobs, r.readers = map[string]mail.Blob{}, map[reader]bool{}
	var list []command
	sought(anys(slices.Compact(ids)), func(marks string, args []any) {
		list = append(list, command{
			Query: "SELECT " + blobColumns + " FROM relay_blobs b WHERE b.id IN (" + marks + ") AND b.expires_at > ? ORDER BY b.id FOR UPDATE",
			Args:  append(args, r.now), Row: func(scan scan) error {
				b, err := scanBlob(scan)
				r.blobs[b.ID] = b
				return err
			},
		})
	})
	if err := r.x.Send(ctx, list); err != nil {
		return err
	}
	list = nil
	for _, d := range r.sends {
		for _, id := range d.m.Blobs {
			who := reader{id, d.m.Sender}
			if b, known := r.blobs[id]; !known || b.Owner == who.key {
				continue
			}
			list = append(list, command{Query: readers, Args: []any{id, who.key[:], r.now}, Row: func(scan scan) error {
				r.readers[who] = true
				var one int
				return scan(&one)
			}})
		}
	}
	if len(list) == 0 {
		return nil
	}
	return r.x.Send(ctx, list)
}

// attach adds the descriptions of the attached blobs to the message. It returns mail.ErrNoBlob if the sender may not attach one of them.
func (d *dispatch) attach() error {
	for _, id := range d.m.Blobs {
		b, known := d.r.blobs[id]
		if !known || b.Owner != d.m.Sender && !d.r.readers[reader{id, d.m.Sender}] {
			return mail.ErrNoBlob
		}
	}
	if len(d.m.Blobs) == 0 {
		return nil
	}
	list, err := described(d.m.Attachments, d.m.Blobs, d.r.blobs)
	d.m.Attachments = list
	return err
}

// described adds the relay's description of each blob to the object that attaches it.
func described(attachments []byte, blobs []string, found map[string]mail.Blob) ([]byte, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(attachments, &list); err != nil || len(list) != len(blobs) {
		return nil, fmt.Errorf("%d attachments, but %d blobs", len(list), len(blobs))
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
