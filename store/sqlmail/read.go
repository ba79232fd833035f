package sqlmail

import (
	"context"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// page returns at most limit rows of a query as read reads them, and reports whether there are more. The query ends with LIMIT ?.
func page[T any](ctx context.Context, s *Store, limit int, read func(scan) (T, error), query string, args ...any) (
	list []T, more bool, err error,
) {
	list, err = engine.All(ctx, s.db, query, append(args, limit+1), read)
	list, more = cut(list, limit)
	return list, more, err
}

// lockAgentRow locks the row of an agent.
const lockAgentRow = "SELECT 1 FROM relay_agents WHERE agent = ? FOR UPDATE"

// keyTo returns a value to scan a stored key into.
func keyTo(k *mail.Key) any { return (*storedKey)(k) }

// textTo returns a value to scan a text into that is stored as bytes, because a database cannot store every string.
func textTo(s *string) any { return (*storedText)(s) }

type (
	storedKey  mail.Key
	storedText string
)

// Scan implements sql.Scanner.
func (k *storedKey) Scan(v any) error {
	b, _ := v.([]byte)
	*k = storedKey{}
	copy(k[:], b)
	return nil
}

// Scan implements sql.Scanner.
func (s *storedText) Scan(v any) error {
	b, _ := v.([]byte)
	*s = storedText(b)
	return nil
}
