package engine

import (
	"context"
	"database/sql"
	"strings"
)

// CatchUp waits until the tables have everything that was committed before.
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

// ReadFloor reads when the database was last set back to an earlier state.
func (db *DB) ReadFloor(ctx context.Context) error {
	read, err := db.sequences(ctx, "restored")
	if err == nil {
		db.floor.Store(read["restored"])
	}
	return err
}

// sequences reads rows of the table sequences.
func (db *DB) sequences(ctx context.Context, names ...string) (map[string]int64, error) {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	found := map[string]int64{}
	err := db.List(ctx, selectSequences("", len(names)), args, func(scan Scan) error {
		var name string
		var n int64
		err := scan(&name, &n)
		found[name] = n
		return err
	})
	return found, err
}

// selectSequences reads rows of the table sequences by their names; what is the expression beside them.
func selectSequences(what string, names int) string {
	return "SELECT name, n" + what + " FROM sequences WHERE name IN (?" + strings.Repeat(", ?", names-1) + ")"
}

// One reads one row outside the writers into dest, and reports whether there is one.
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

// List reads rows outside the writers: what was committed before, even if the tables do not have it yet. It repeats the query if an idle
// connection has ended.
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

// All returns the rows of a query outside the writers, each as scan reads it.
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

// First returns the first row of a query outside the writers, as scan reads it, or the error missing if there is none.
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

// Ask reads rows from the tables in their present state.
func (db *DB) Ask(ctx context.Context, query string, args []any, each func(Scan) error) error {
	rows, err := db.read.QueryContext(ctx, db.dialect.Rewrite(query), args...)
	if err != nil {
		return err
	}
	return Drain(rows, each)
}

// Snapshot runs queries that see the tables at one moment, without a time bound. Writers continue meanwhile.
func (db *DB) Snapshot(ctx context.Context, run func(*sql.Tx) error) error {
	reader, err := db.read.BeginTx(ctx, nil)
	if err != nil {
		return Unavailable(err)
	}
	defer func() { _ = reader.Rollback() }()
	for _, q := range db.dialect.unhurried {
		if _, err := reader.ExecContext(ctx, q); err != nil {
			return Unavailable(err)
		}
	}
	return run(reader)
}
