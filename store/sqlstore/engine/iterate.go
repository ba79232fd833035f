package engine

import (
	"context"
	"errors"
	"iter"
)

// A Row reads the columns of a row.
type Row func(dest ...any)

// A rowSource is a Tx or a Reader. It remembers the first error of its queries.
type rowSource interface {
	// each calls the function each for every row of a query until it returns an error; errBreak ends the query without an error.
	each(ctx context.Context, query string, args []any, each func(Scan) error)
}

var errBreak = errors.New("the loop has ended")

// rowsOf iterates over the rows of a query.
func rowsOf(ctx context.Context, from rowSource, query string, args []any) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		from.each(ctx, query, args, func(scan Scan) (err error) {
			if !yield(func(dest ...any) { err = scan(dest...) }) && err == nil {
				err = errBreak
			}
			return err
		})
	}
}

// Records iterates over the rows of a query as scan reads them.
func Records[T any](ctx context.Context, from rowSource, scan func(Scan) (T, error), query string, args ...any) iter.Seq[T] {
	return func(yield func(T) bool) {
		from.each(ctx, query, args, func(row Scan) error {
			one, err := scan(row)
			if err == nil && !yield(one) {
				err = errBreak
			}
			return err
		})
	}
}

// Record returns the last row of a query as scan reads it, and reports whether there is one.
func Record[T any](ctx context.Context, from rowSource, scan func(Scan) (T, error), query string, args ...any) (record T, found bool) {
	for record = range Records(ctx, from, scan, query, args...) {
		found = true
	}
	return record, found
}

// Values iterates over the values of a query that selects one column.
func Values[T any](ctx context.Context, from rowSource, query string, args ...any) iter.Seq[T] {
	return Records(ctx, from, func(scan Scan) (value T, err error) {
		err = scan(&value)
		return value, err
	}, query, args...)
}
