package sqlmail

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// pageBytes limits the size of one page of messages. A page ends with the message that reaches the limit.
const pageBytes = 8 << 20

const (
	envelopeColumns = "id, sender, recipient, state, created_at, expires_at, delivered_at, size, thread, reply, content_type, attachments"
	messageColumns  = envelopeColumns + ", metadata, signed, body"
)

// scanMessage reads a message with its status at the time now. If whole is set, it also reads the body, the metadata and the signed
// request.
func scanMessage(scan scan, now int64, whole bool) (m mail.Message, bytes int64, err error) {
	dest := []any{
		&m.ID, keyTo(&m.Sender), keyTo(&m.Recipient), &m.Status, timeTo(&m.CreatedAt), timeTo(&m.ExpiresAt), timeTo(&m.DeliveredAt), &bytes,
		textTo(&m.ThreadID), textTo(&m.InReplyTo), textTo(&m.ContentType), &m.Attachments,
	}
	if whole {
		dest = append(dest, &m.Metadata, &m.Signed, &m.Body)
	}
	err = scan(dest...)
	if m.Status == mail.Sent && nanos(m.ExpiresAt) <= now {
		m.Status = mail.Expired
	}
	return m, bytes, err
}

const selectMessage = "SELECT " + messageColumns + " FROM relay_messages WHERE id = ?"

// scanWhole returns a function that reads a whole message with its status at the time now.
func scanWhole(now time.Time) func(scan) (mail.Message, error) {
	return func(scan scan) (mail.Message, error) {
		m, _, err := scanMessage(scan, nanos(now), true)
		return m, err
	}
}

// Message returns a message, or mail.ErrNotFound.
func (s *Store) Message(ctx context.Context, id string) (m mail.Message, err error) {
	if !plain(id) {
		return mail.Message{}, mail.ErrNotFound
	}
	return engine.First(ctx, s.db, mail.ErrNotFound, selectMessage, []any{id}, scanWhole(s.Now()))
}

// Messages lists messages of a recipient, oldest first, and then by id. A page that is not the last may have fewer messages than the
// limit, because it also ends at 8 MiB.
func (s *Store) Messages(ctx context.Context, q mail.Query) ([]mail.Message, bool, error) {
	now := nanos(s.Now())
	var arms []where
	arm := func(state string, expiry string, args ...any) {
		w := where{}
		w.and("recipient = ?", q.Recipient[:])
		// The index of replies is used for all states, because one message has few replies. The index of threads is used only for
		// messages that are not waiting, because there are never many waiting messages.
		if q.InReplyTo != "" || q.ThreadID != "" && state != mail.Sent {
			w.and("state || '' = ?", state)
		} else {
			w.and("state = ?", state)
		}
		if expiry != "" {
			w.and(expiry, args...)
		}
		if q.Sender != nil {
			w.and("sender = ?", q.Sender[:])
		}
		if q.InReplyTo != "" {
			w.and("reply = ?", []byte(q.InReplyTo))
		}
		switch {
		case q.ThreadID == "":
		case state == mail.Sent || q.InReplyTo != "":
			w.and("CASE WHEN thread = ? THEN 1 ELSE 0 END = 1", []byte(q.ThreadID))
		default:
			w.and("thread = ?", []byte(q.ThreadID))
		}
		arms = append(arms, w)
	}
	switch q.Status {
	case mail.Sent:
		arm(mail.Sent, "expires_at > ?", now)
	case mail.Delivered:
		arm(mail.Delivered, "")
	case mail.Expired:
		arm(mail.Expired, "")
		arm(mail.Sent, "expires_at <= ?", now)
	}
	return s.page(ctx, now, arms, q.After, q.Limit)
}

// Thread lists the messages of a thread that an agent has sent or received, including the message whose id is the id of the thread. The
// order and the pages are those of Messages.
func (s *Store) Thread(ctx context.Context, thread string, agent mail.Key, after *mail.Place, limit int) ([]mail.Message, bool, error) {
	received, sent, first := where{}, where{}, where{}
	received.and("recipient = ?", agent[:])
	received.and("thread = ?", []byte(thread))
	sent.and("sender = ?", agent[:])
	sent.and("thread = ?", []byte(thread))
	arms := []where{received, sent}
	if plain(thread) {
		first.and("id = ?", thread)
		first.and("CASE WHEN sender = ? OR recipient = ? THEN 1 ELSE 0 END = 1", agent[:], agent[:])
		arms = append(arms, first)
	}
	return s.page(ctx, nanos(s.Now()), arms, after, limit)
}

// errEnough stops reading rows.
var errEnough = errors.New("the page is full")

// page merges the rows of several queries into one page, ordered by time and id.
func (s *Store) page(ctx context.Context, now int64, arms []where, after *mail.Place, limit int) (
	list []mail.Message, more bool, err error,
) {
	var end *mail.Message // rows after it were not read
	for _, w := range arms {
		if after != nil {
			w.and("(created_at, id) > (?, ?)", nanos(after.CreatedAt), strings.ToValidUTF8(strings.ReplaceAll(after.ID, "\x00", ""), ""))
		}
		some, further, err := s.read(ctx, now, w, limit)
		if err != nil {
			return nil, false, err
		}
		if last := len(some) - 1; further && (end == nil || inOrder(some[last], *end) < 0) {
			end = &some[last]
		}
		list = append(list, some...)
	}
	slices.SortFunc(list, inOrder)
	list = slices.CompactFunc(list, func(a, b mail.Message) bool { return a.ID == b.ID })
	if end != nil {
		behind, _ := slices.BinarySearchFunc(list, *end, inOrder)
		list, more = list[:behind+1], true
	}
	if len(list) > limit {
		list, more = list[:limit], true
	}
	return list, more, nil
}

func inOrder(a, b mail.Message) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// read reads the first rows of one query, and reports whether there are more.
func (s *Store) read(ctx context.Context, now int64, w where, limit int) (list []mail.Message, more bool, err error) {
	var sum int64
	err = s.db.List(ctx, "SELECT "+messageColumns+" FROM relay_messages WHERE "+strings.TrimPrefix(w.text, " AND ")+
		" ORDER BY created_at, id LIMIT ?", append(w.args, limit+1), func(scan scan) error {
		if len(list) == limit || sum >= pageBytes {
			more = true
			return errEnough
		}
		m, bytes, err := scanMessage(scan, now, true)
		list, sum = append(list, m), sum+bytes
		return err
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return list, more, err
}

// List lists messages without their bodies, metadata and signed requests, newest first. If agent is not nil, it lists only messages that
// the agent has sent or received. after is the end of the previous page; nil means the first page.
func (s *Store) List(ctx context.Context, agent *mail.Key, after *mail.Place, limit int) (list []mail.Message, more bool, err error) {
	now := nanos(s.Now())
	arms := []where{{}}
	if agent != nil {
		arms = make([]where, 4)
		for i, state := range []string{mail.Sent, mail.Delivered, mail.Expired} {
			arms[i].and("recipient = ?", agent[:])
			arms[i].and("state = ?", state)
		}
		arms[3].and("sender = ?", agent[:])
	}
	for _, w := range arms {
		if after != nil {
			w.and("(created_at, id) < (?, ?)", nanos(after.CreatedAt), after.ID)
		}
		query := "SELECT " + envelopeColumns + " FROM relay_messages"
		if w.text != "" {
			query += " WHERE " + strings.TrimPrefix(w.text, " AND ")
		}
		err := s.db.List(ctx, query+" ORDER BY created_at DESC, id DESC LIMIT ?", append(w.args, limit+1), func(scan scan) error {
			m, _, err := scanMessage(scan, now, false)
			list = append(list, m)
			return err
		})
		if err != nil {
			return nil, false, err
		}
	}
	slices.SortFunc(list, func(a, b mail.Message) int { return inOrder(b, a) })
	list = slices.CompactFunc(list, func(a, b mail.Message) bool { return a.ID == b.ID })
	list, more = cut(list, limit)
	return list, more, nil
}
