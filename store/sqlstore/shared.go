package sqlstore

import (
	"context"
	"time"
)

// A Tx is a transaction of another package of store, as long as its Update runs. Statements are written as those of this package:
// with ? for each argument, and FOR UPDATE where a row is read to be changed.
type Tx struct{ t *tx }

// Now returns the time of the store's clock at which the transaction takes place.
func (x Tx) Now() time.Time { return x.t.now }

// Exec runs a statement that writes, and returns how many rows it changed.
func (x Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return x.t.exec(ctx, query, args...)
}

// Returning runs a statement that writes and returns rows, and calls each with every row.
func (x Tx) Returning(ctx context.Context, query string, args []any, each func(scan func(dest ...any) error) error) error {
	if err := x.t.save(ctx); err != nil {
		return err
	}
	return x.Rows(ctx, query, args, each)
}

// Row reads one row into dest, and reports whether there is one.
func (x Tx) Row(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	return x.t.row(ctx, query, args, dest...)
}

// Rows calls each with every row.
func (x Tx) Rows(ctx context.Context, query string, args []any, each func(scan func(dest ...any) error) error) error {
	return x.t.rows(ctx, query, args, func(s scan) error { return each(s) })
}

// Update runs one operation inside the next transaction, and returns when that is durable. An error of the operation undoes all that
// the operation changed, and is returned; others of the same transaction are not affected. It may run more than once, so it sets its
// results anew. If ctx ends before the operation runs, it does not run.
func (s *Store) Update(ctx context.Context, run func(context.Context, Tx) error) error {
	return s.update(ctx, func(ctx context.Context, t *tx) error { return run(ctx, Tx{t}) })
}

// Rows reads outside of transactions: it waits for no writer, and sees what was committed.
func (s *Store) Rows(ctx context.Context, query string, args []any, each func(scan func(dest ...any) error) error) error {
	return s.list(ctx, query, args, func(s scan) error { return each(s) })
}

// RestoredAt returns when the state was last set back to an earlier one, as by a backup; the zero time: never. See MarkRestored.
func (s *Store) RestoredAt() time.Time { return fromNanos(s.floor.Load()) }

// Nanos converts a time to the form in which it is kept: nanoseconds since 1970 UTC, and 0 for the zero time.
func Nanos(t time.Time) int64 { return nanos(t) }

// FromNanos is the inverse of Nanos.
func FromNanos(n int64) time.Time { return fromNanos(n) }
