package engine

import (
	"context"
	"time"
)

// nothing is an empty operation. Before it runs, pending changes are written into the tables.
func nothing(context.Context, *Tx) error { return nil }

// The kinds of operations that run statements themselves. An operation that shares a transaction runs in a savepoint.
var (
	update kind = statements{everything}
	aside  kind = statements{besideCalls}
)

type statements struct{ scope scope }

func (statements) patience(d *Dialect) time.Duration { return d.Patience }

func (statements) shared(d *Dialect) bool { return d.Sharing == Exclusive }

func (s statements) begin(t *Tx, batch []*op, _ int) work {
	t.scope, t.op.shared = s.scope, len(batch) > 1
	return ownStatements{t}
}

// ownStatements is the work of a transaction of the kinds update and aside.
type ownStatements struct{ t *Tx }

func (o ownStatements) read(ctx context.Context) ([]Command, error) {
	db := o.t.w.db
	if o.t.scope != everything || db.dialect.Sharing != Exclusive || db.Layer == nil {
		return nil, nil
	}
	return nil, db.Layer.CatchUp(ctx, o.t)
}

func (o ownStatements) run(ctx context.Context, batch []*op) error {
	for _, one := range batch {
		if err := o.t.one(ctx, one); err != nil {
			return err
		}
	}
	o.t.ending = always
	if o.t.op.undone && !o.t.op.shared {
		o.t.ending = never
	}
	return nil
}

func (ownStatements) write(context.Context) ([]Command, error) { return nil, nil }

func (groupWork) read(context.Context) ([]Command, error) { return nil, nil }

// Update runs an operation inside the next transaction, and returns when that transaction is durable. If run fails, Update returns its
// error. If the operation was not run (ctx ended, the queue is full, or the database is closed), or the transaction failed, the error wraps
// store.ErrUnavailable. Unsure reports whether the transaction may nevertheless have been committed. run may be called more than once. If
// ctx ends before run is called, run is not called; once it has been called, Update waits until the transaction has ended.
func (db *DB) Update(ctx context.Context, run func(context.Context, *Tx) error) error {
	return db.queued(ctx, db.queues.others, &op{kind: update, run: run})
}

// Aside is like Update, for operations that use none of CallTables. Such an operation does not wait until the journal is written into these
// tables, and works even if they cannot be written. For example, agents can still be blocked and tokens revoked when the disk is full. A
// statement on one of these tables fails with ErrAside.
func (db *DB) Aside(ctx context.Context, run func(context.Context, *Tx) error) error {
	return db.queued(ctx, db.queues.others, &op{kind: aside, run: run})
}

// Run runs one statement as an operation of Aside, and returns how many rows it changed.
func (db *DB) Run(ctx context.Context, query string, args ...any) (changed int64, err error) {
	err = db.Aside(ctx, func(ctx context.Context, t *Tx) error {
		changed = t.Run(ctx, query, args...)
		return nil
	})
	return changed, err
}
