package sqlmail

import (
	"context"

	"github.com/uimgate/uimgate/store/mail"
)

// An idempotency is an idempotency key and the sender that uses it.
type idempotency struct {
	sender mail.Key
	key    string
}

func (d *dispatch) key() idempotency { return idempotency{d.m.Sender, d.m.IdempotencyKey} }

// An earlier message is a message that was already sent under an idempotency key.
type earlier struct {
	digest  mail.Key
	message mail.Message // id, keys and times
}

// used returns the command that sets d.earlier to the message that was already sent under the idempotency key.
func (d *dispatch) used() command {
	return command{
		Query: "SELECT digest, message, recipient, created_at, expires_at FROM relay_keys WHERE sender = ? AND idem_key = ? AND until > ?",
		Args:  []any{d.m.Sender[:], []byte(d.m.IdempotencyKey), d.r.now},
		Row: func(scan scan) error {
			e := &earlier{message: mail.Message{Sender: d.m.Sender, Status: mail.Sent}}
			d.earlier = e
			return scan(keyTo(&e.digest), &e.message.ID, keyTo(&e.message.Recipient), timeTo(&e.message.CreatedAt), timeTo(&e.message.ExpiresAt))
		},
	}
}

// again reports whether a message was already sent under the idempotency key, in this round or before. If so, it sets the result of the
// turn.
func (d *dispatch) again() bool {
	if d.m.IdempotencyKey == "" {
		return false
	}
	if other := d.r.keys[d.key()]; other != nil {
		d.earlier = &earlier{digest: other.m.Digest, message: other.m.Message}
	}
	switch {
	case d.earlier == nil:
		return false
	case d.earlier.digest != d.m.Digest:
		d.t.err = mail.ErrKeyReused
	default:
		d.t.taken, d.t.repeated = d.earlier.message, true
	}
	return true
}

// repeat reads the messages that were sent before and are still stored.
func (r *round) repeat(ctx context.Context) error {
	var list []command
	for _, d := range r.sends {
		if !d.t.repeated || r.keys[d.key()] != nil {
			continue
		}
		list = append(list, command{
			Query: "SELECT " + messageColumns + " FROM relay_messages WHERE id = ?", Args: []any{d.earlier.message.ID},
			Row: func(scan scan) error {
				m, _, err := scanMessage(scan, r.now, true)
				d.t.taken = m
				return err
			},
		})
	}
	if len(list) == 0 {
		return nil
	}
	return r.x.Send(ctx, list)
}
