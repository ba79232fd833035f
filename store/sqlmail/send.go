package sqlmail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/mail"
)

const (
	keyKept     = 24 * time.Hour // of an idempotency key
	expiredKept = 24 * time.Hour // of a message that expired
)

// errOvertaken means that another process has just used the idempotency key.
var errOvertaken = errors.New("the idempotency key was used meanwhile")

// Send takes a message, and returns it as it is kept. One that was sent under the same idempotency key within 24 hours is returned
// instead, and repeated is true; of one that is no longer kept only id, keys and times. Errors: mail.ErrKeyReused, mail.ErrDenied,
// mail.ErrQueueFull, mail.ErrFull, mail.ErrNoBlob. Blobs live at least as long as the message that attaches them.
func (s *Store) Send(ctx context.Context, m mail.Sending) (taken mail.Message, repeated bool, err error) {
	if !plain(m.ID) || m.Lifetime <= 0 {
		return mail.Message{}, false, errors.New("a message without an id or a lifetime")
	}
	m.Status = mail.Sent
	for range 3 {
		if taken, repeated, err = s.send(ctx, m); !errors.Is(err, errOvertaken) {
			break
		}
	}
	switch {
	case errors.Is(err, errOvertaken):
		return mail.Message{}, false, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	case err != nil:
		return mail.Message{}, false, err
	}
	if !repeated && s.opts.Arrived != nil {
		s.opts.Arrived(taken.Recipient)
	}
	return taken, repeated, nil
}

func (s *Store) send(ctx context.Context, m mail.Sending) (taken mail.Message, repeated bool, err error) {
	err = s.db.Update(ctx, func(ctx context.Context, x tx) error {
		d := dispatch{s: s, x: x, m: m, now: nanos(x.Now()), sums: tally{}}
		taken, repeated, err = d.repeat(ctx)
		if err != nil || repeated {
			return err
		}
		if err := d.run(ctx); err != nil {
			return err
		}
		taken = d.m.Message
		return nil
	})
	return taken, repeated, err
}

// A dispatch is one message that is being taken in a transaction.
type dispatch struct {
	s    *Store
	x    tx
	m    mail.Sending
	now  int64
	sums tally

	inbox inbox
}

func (d *dispatch) run(ctx context.Context) error {
	var last int64
	var err error
	if d.inbox.waiting, last, err = ensureBox(ctx, d.x, d.m.Recipient); err != nil {
		return err
	}
	if err := d.admit(ctx); err != nil {
		return err
	}
	created := d.s.next(max(d.now, last+1))
	d.m.CreatedAt, d.m.ExpiresAt, d.m.DeliveredAt = fromNanos(created), fromNanos(created).Add(d.m.Lifetime), time.Time{}
	if err := d.attach(ctx); err != nil {
		return err
	}
	return d.write(ctx)
}

// next returns when a message is taken: not before a moment, and later than all that this process took.
func (s *Store) next(at int64) int64 {
	for {
		last := s.last.Load()
		at = max(at, last+1)
		if s.last.CompareAndSwap(last, at) {
			return at
		}
	}
}

// repeat returns the message that was sent under the idempotency key.
func (d *dispatch) repeat(ctx context.Context) (m mail.Message, found bool, err error) {
	if d.m.IdempotencyKey == "" {
		return mail.Message{}, false, nil
	}
	var digest, recipient []byte
	var created, expires int64
	found, err = d.x.Row(ctx, "SELECT digest, message, recipient, created_at, expires_at FROM relay_keys WHERE sender = ? AND idem_key = ? "+
		"AND until > ?", []any{d.m.Sender[:], []byte(d.m.IdempotencyKey), d.now}, &digest, &m.ID, &recipient, &created, &expires)
	switch {
	case err != nil || !found:
		return mail.Message{}, false, err
	case keyFrom(digest) != d.m.Digest:
		return mail.Message{}, false, mail.ErrKeyReused
	}
	kept, stored, err := messageIn(ctx, d.x, m.ID)
	if err != nil || stored {
		return kept, true, err
	}
	m.Sender, m.Recipient, m.Status = d.m.Sender, keyFrom(recipient), mail.Sent
	m.CreatedAt, m.ExpiresAt = fromNanos(created), fromNanos(expires)
	return m, true, nil
}

// An inbox is what the message is held against.
type inbox struct {
	waiting  int64
	policy   *string // nil: the recipient is no agent
	entry    *string // of its access list, for the sender
	webhook  *int64  // 1: it is enabled
	messages int64   // of the relay
	bytes    int64
}

// admit holds the message against what the recipient wants, and what it and the relay may have.
func (d *dispatch) admit(ctx context.Context) error {
	in, to := &d.inbox, d.m.Recipient[:]
	if _, err := d.x.Row(ctx, `SELECT (SELECT policy FROM relay_agents WHERE agent = ?),
		(SELECT entry_type FROM relay_acl WHERE owner = ? AND peer = ?), (SELECT enabled FROM relay_webhooks WHERE owner = ?), `+
		total("messages")+", "+total("bytes"), []any{to, to, d.m.Sender[:], to},
		&in.policy, &in.entry, &in.webhook, &in.messages, &in.bytes); err != nil {
		return err
	}
	if !in.takes() {
		return mail.ErrDenied
	}
	if in.messages >= d.m.All || size(&d.m.Message) > d.m.Bytes-in.bytes {
		return mail.ErrFull
	}
	most := d.m.Waiting
	if in.policy == nil {
		most = d.m.Stranger
	}
	if in.waiting < most {
		return nil
	}
	expired, err := d.expire(ctx)
	if err == nil && in.waiting-expired >= most {
		err = mail.ErrQueueFull
	}
	return err
}

// takes reports whether the policy of the inbox lets the sender send.
func (in *inbox) takes() bool {
	if in.policy == nil {
		return true
	}
	has := func(kind string) bool { return in.entry != nil && *in.entry == kind }
	switch *in.policy {
	case mail.Open:
		return true
	case mail.Allowlist:
		return has(mail.Allow)
	case mail.Blocklist:
		return !has(mail.Block)
	default:
		return false
	}
}

// expire notes of some messages of the recipient that they have expired, and returns of how many.
func (d *dispatch) expire(ctx context.Context) (int64, error) {
	const some = 8
	var ids []string
	err := d.x.Returning(ctx, "UPDATE relay_messages SET state = 'expired', due_at = expires_at + ? WHERE id IN (SELECT id "+
		"FROM relay_messages WHERE recipient = ? AND state = 'sent' AND expires_at <= ? ORDER BY created_at, id "+limited(some)+") RETURNING id",
		[]any{int64(expiredKept), d.m.Recipient[:], d.now}, func(scan scan) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	if err := forgetPostings(ctx, d.x, ids); err != nil {
		return 0, err
	}
	n := int64(len(ids))
	d.sums.of(d.m.Recipient).waiting -= n
	_, err = d.x.Exec(ctx, "UPDATE relay_boxes SET waiting = waiting - ? WHERE recipient = ?", n, d.m.Recipient[:])
	return n, err
}

// size is how many bytes are kept of a message.
func size(m *mail.Message) int64 {
	return int64(len(m.Body) + len(m.Attachments) + len(m.Metadata) + len(m.Signed) + len(m.ThreadID) + len(m.InReplyTo) + len(m.ContentType))
}

// write keeps the message.
func (d *dispatch) write(ctx context.Context) error {
	m := &d.m.Message
	created, expires, bytes := nanos(m.CreatedAt), nanos(m.ExpiresAt), size(m)
	if _, err := d.x.Exec(ctx, `INSERT INTO relay_messages (id, sender, recipient, state, created_at, expires_at, delivered_at, due_at, size,
		thread, reply, content_type, attachments, metadata, signed, body) VALUES (?, ?, ?, 'sent', ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.ID, m.Sender[:], m.Recipient[:], created, expires, expires, bytes,
		orNull(m.ThreadID), orNull(m.InReplyTo), []byte(m.ContentType), m.Attachments, m.Metadata, m.Signed, m.Body); err != nil {
		return err
	}
	if d.m.IdempotencyKey != "" {
		n, err := d.x.Exec(ctx, `INSERT INTO relay_keys (sender, idem_key, digest, message, recipient, created_at, expires_at, until)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (sender, idem_key) DO UPDATE SET digest = excluded.digest, message = excluded.message,
			recipient = excluded.recipient, created_at = excluded.created_at, expires_at = excluded.expires_at, until = excluded.until
			WHERE relay_keys.until <= ?`, m.Sender[:], []byte(d.m.IdempotencyKey), d.m.Digest[:], m.ID, m.Recipient[:], created, expires,
			d.now+int64(keyKept), d.now)
		if err == nil && n == 0 {
			err = errOvertaken
		}
		if err != nil {
			return err
		}
	}
	if d.inbox.webhook != nil && *d.inbox.webhook != 0 {
		if _, err := d.x.Exec(ctx, "INSERT INTO relay_postings (message, owner, attempts, due_at) VALUES (?, ?, 0, ?)",
			m.ID, m.Recipient[:], d.now); err != nil {
			return err
		}
	}
	if _, err := d.x.Exec(ctx, "UPDATE relay_boxes SET waiting = waiting + 1, last_at = ? WHERE recipient = ?",
		created, m.Recipient[:]); err != nil {
		return err
	}
	sum := d.sums.of(m.Recipient)
	sum.waiting++
	sum.messages++
	sum.bytes += bytes
	return d.sums.write(ctx, d.x)
}
