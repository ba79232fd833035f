package sqlmail

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/store/mail"
)

const (
	keyKept     = 24 * time.Hour // how long an idempotency key is kept
	expiredKept = 24 * time.Hour // how long a message is kept after it has expired
)

// Send accepts a message, and returns it as stored. If a message was sent under the same idempotency key within the last 24 hours, Send
// returns that message instead, and sets repeated. If the store has already deleted that message, the result has only its id, keys and
// times. The error is mail.ErrKeyReused, mail.ErrDenied, mail.ErrQueueFull, mail.ErrFull or mail.ErrNoBlob if the message is refused.
// Blobs are kept at least as long as the messages that attach them.
func (s *Store) Send(ctx context.Context, m mail.NewMessage) (taken mail.Message, repeated bool, err error) {
	t := &turn{send: &m}
	err = s.dispatch(ctx, t)
	return t.taken, t.repeated, err
}

// SendSigned combines Admit and Send in one transaction. If the message is refused, the signature still counts as used, and isNew is also
// valid.
func (s *Store) SendSigned(ctx context.Context, g mail.Guard, touch time.Duration, m mail.NewMessage) (
	taken mail.Message, repeated, isNew bool, err error,
) {
	if s.beforeRestore(g) {
		return mail.Message{}, false, false, mail.ErrReplayed
	}
	t := &turn{guard: &g, touch: touch, send: &m}
	err = s.dispatch(ctx, t)
	return t.taken, t.repeated, t.isNew, err
}

func (s *Store) dispatch(ctx context.Context, t *turn) error {
	if !plain(t.send.ID) || t.send.Lifetime <= 0 {
		return errors.New("the message has no valid id or no lifetime")
	}
	if err := s.take(ctx, t); err != nil {
		return err
	}
	if !t.repeated && s.opts.Arrived != nil {
		s.opts.Arrived(t.taken.Recipient)
	}
	return nil
}

// A dispatch is one message that a round processes.
type dispatch struct {
	r *round
	t *turn
	m mail.NewMessage

	inbox   inbox
	earlier *earlier
}

// decide processes the messages of a round, one after another.
func (r *round) decide(ctx context.Context) error {
	for _, d := range r.sends {
		if d.again() {
			continue
		}
		refused, err := d.fits(ctx)
		if err != nil {
			return err
		}
		if refused == nil {
			refused = d.attach()
		}
		if d.t.err = refused; refused == nil {
			d.take()
		}
	}
	return nil
}

// take sets the times of an accepted message, and collects all writes for it.
func (d *dispatch) take() {
	r, b := d.r, d.r.boxes[d.m.Recipient]
	created := r.s.next(max(r.now, b.last+1))
	b.waiting, b.last, b.changed = b.waiting+1, created, true
	m := &d.m.Message
	m.Status = mail.Sent
	m.CreatedAt, m.ExpiresAt, m.DeliveredAt = fromNanos(created), fromNanos(created).Add(d.m.Lifetime), time.Time{}
	bytes := size(m)
	r.messages, r.bytes = r.messages+1, r.bytes+bytes
	r.sum.waiting, r.sum.messages, r.sum.bytes = r.sum.waiting+1, r.sum.messages+1, r.sum.bytes+bytes
	r.rows.add(d, bytes)
	if d.m.IdempotencyKey != "" {
		r.keys[d.key()] = d
	}
	d.t.taken = *m
}

// next returns the time at which a message is accepted. The result is at, or the first later time that is after the times of all messages
// that this process has accepted.
func (s *Store) next(at int64) int64 {
	for {
		last := s.last.Load()
		at = max(at, last+1)
		if s.last.CompareAndSwap(last, at) {
			return at
		}
	}
}

// size returns the stored size of a message in bytes.
func size(m *mail.Message) int64 {
	return int64(len(m.Body) + len(m.Attachments) + len(m.Metadata) + len(m.Signed) + len(m.ThreadID) + len(m.InReplyTo) + len(m.ContentType))
}
