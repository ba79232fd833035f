package sqlmail

import (
	"context"
	"strings"

	"github.com/uimgate/uimgate/store/mail"
)

// Waiting lists unexpired messages that wait for a recipient, oldest first, and then by id: at most limit messages that come after the
// given position. more reports whether further messages wait. The messages are returned without their contents, so that a caller that
// delivers many messages one after another does not have to keep all of them in memory.
func (s *Store) Waiting(
	ctx context.Context, recipient mail.Key, after *mail.Place, limit int,
) (list []mail.WaitingMessage, more bool, err error) {
	w := where{}
	w.and("recipient = ?", recipient[:])
	w.and("state = ?", mail.Sent)
	w.and("expires_at > ?", nanos(s.Now()))
	if after != nil {
		w.and("(created_at, id) > (?, ?)", nanos(after.CreatedAt), after.ID)
	}
	return page(ctx, s, limit, func(scan scan) (m mail.WaitingMessage, err error) {
		err = scan(&m.ID, timeTo(&m.CreatedAt), &m.Size)
		return m, err
	}, "SELECT id, created_at, size FROM relay_messages WHERE "+strings.TrimPrefix(w.text, " AND ")+" ORDER BY created_at, id LIMIT ?",
		w.args...)
}
