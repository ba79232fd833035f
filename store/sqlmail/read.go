package sqlmail

import (
	"context"

	"github.com/uimgate/uimgate/store/mail"
)

// A source runs queries: the database outside of transactions, or a transaction.
type source interface {
	Rows(ctx context.Context, query string, args []any, each func(scan) error) error
}

// all returns the rows of a query as read reads them.
func all[T any](ctx context.Context, from source, query string, args []any, read func(scan) (T, error)) (list []T, err error) {
	err = from.Rows(ctx, query, args, func(scan scan) error {
		one, err := read(scan)
		list = append(list, one)
		return err
	})
	return list, err
}

// first returns the first row of a query as read reads it, or mail.ErrNotFound if there is none.
func first[T any](ctx context.Context, from source, query string, args []any, read func(scan) (T, error)) (T, error) {
	list, err := all(ctx, from, query, args, read)
	if err == nil && len(list) == 0 {
		err = mail.ErrNotFound
	}
	if err != nil {
		var none T
		return none, err
	}
	return list[0], nil
}

// row reads one row into dest. The error is mail.ErrNotFound if there is none.
func row(ctx context.Context, x tx, query string, args []any, dest ...any) error {
	found, err := x.Row(ctx, query, args, dest...)
	if err == nil && !found {
		err = mail.ErrNotFound
	}
	return err
}

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
