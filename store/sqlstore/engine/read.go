package engine

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"strings"
)

// CatchUp waits until the tables contain everything that was committed before the call.
func (db *DB) CatchUp(ctx context.Context) error {
	if db.Layer == nil || db.dialect.Sharing != Exclusive || len(db.queues.lanes) == 0 {
		return nil
	}
	pending, err := db.Layer.Pending(ctx)
	if err == nil && pending {
		err = db.Update(ctx, nothing)
	}
	return err
}

// sequences reads rows of the sequences table by their names. A missing row has no entry in the result.
func (db *DB) sequences(ctx context.Context, names ...string) (map[string]int64, error) {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	found := map[string]int64{}
	return found, db.List(ctx, selectSequences("", len(names)), args, numbers(found))
}

// numbers returns a function that adds a row of selectSequences to found. The columns after the first two are scanned into more.
func numbers(found map[string]int64, more ...any) func(Scan) error {
	return func(scan Scan) error {
		var name string
		var n int64
		err := scan(append([]any{&name, &n}, more...)...)
		found[name] = n
		return err
	}
}

// selectSequences returns a query for rows of the sequences table by their names. what is SQL text that is appended to the selected
// columns.
func selectSequences(what string, names int) string {
	return "SELECT name, n" + what + " FROM sequences WHERE name IN (?" + strings.Repeat(", ?", names-1) + ")"
}

// One reads the first row of a query into dest, and reports whether there is one. Like List, it does not run in a transaction of a writer.
func (db *DB) One(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	found := false
	err := db.List(ctx, query, args, func(scan Scan) error {
		if found {
			return nil
		}
		found = true
		return scan(dest...)
	})
	return found && err == nil, err
}

// List runs a query outside the transactions of writers, and calls the function each for every row. The rows include everything that was
// committed before the call, even changes that were not in the tables yet. If an idle connection turns out to have ended, List repeats the
// query. All errors, including those of each, wrap store.ErrUnavailable.
func (db *DB) List(ctx context.Context, query string, args []any, each func(Scan) error) error {
	if d := db.dialect.Patience; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	began := false
	counted := func(scan Scan) error {
		began = true
		return each(scan)
	}
	if Touches(query) {
		if err := db.CatchUp(ctx); err != nil {
			return err
		}
	}
	err := db.Ask(ctx, query, args, counted)
	if err != nil && !began && db.dialect.Lost(err) && ctx.Err() == nil {
		err = db.Ask(ctx, query, args, counted)
	}
	if err != nil {
		return Unavailable(err)
	}
	return nil
}

// All is like List, and returns the rows as scan reads them.
func All[T any](ctx context.Context, db *DB, query string, args []any, scan func(Scan) (T, error)) ([]T, error) {
	var all []T
	err := db.List(ctx, query, args, func(row Scan) error {
		one, err := scan(row)
		all = append(all, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// First is like All, but returns only the first row, or the error missing if there is none.
func First[T any](ctx context.Context, db *DB, missing error, query string, args []any, scan func(Scan) (T, error)) (first T, err error) {
	all, err := All(ctx, db, query, args, scan)
	switch {
	case err != nil:
		return first, err
	case len(all) == 0:
		return first, missing
	}
	return all[0], nil
}

// Ask runs a query on the tables as they are, without waiting for pending changes, and calls the function each for every row.
func (db *DB) Ask(ctx context.Context, query string, args []any, each func(Scan) error) error {
	rows, err := db.ask(ctx, db.dialect.Rewrite(query), args)
	if err != nil {
		return err
	}
	return Drain(rows, each)
}

// A Reader reads one snapshot of a database. Its methods return no error: it remembers the first one, and then returns nothing more.
type Reader struct {
	tx      *sql.Tx
	dialect *Dialect
	err     error
}

// Snapshot calls run with a Reader, whose queries all see the tables at the same moment and have no time limit. Writers do not wait for it.
// If a query fails, Snapshot returns its error, whatever run returns.
func (db *DB) Snapshot(ctx context.Context, run func(*Reader) error) error {
	tx, err := db.read.BeginTx(ctx, nil)
	if err != nil {
		return Unavailable(err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, q := range db.dialect.unhurried {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return Unavailable(err)
		}
	}
	r := &Reader{tx: tx, dialect: db.dialect}
	if err := run(r); r.err == nil {
		return err
	}
	return r.err
}

// Query runs a query, and iterates over its rows.
func (r *Reader) Query(ctx context.Context, query string, args ...any) iter.Seq[Row] {
	return rowsOf(ctx, r, query, args)
}

// Find reads the first row of a query into dest, and reports whether there is one.
func (r *Reader) Find(ctx context.Context, query string, args []any, dest ...any) (found bool) {
	for row := range r.Query(ctx, query, args...) {
		row(dest...)
		return true
	}
	return false
}

// each implements rowSource.
func (r *Reader) each(ctx context.Context, query string, args []any, each func(Scan) error) {
	if r.err != nil {
		return
	}
	if len(args) > 0 { // other queries are the same in each dialect
		query = r.dialect.Rewrite(query)
	}
	rows, err := r.tx.QueryContext(ctx, query, args...)
	if err == nil {
		err = Drain(rows, each)
	}
	if err != nil && !errors.Is(err, errBreak) {
		r.err = Unavailable(err)
	}
}
