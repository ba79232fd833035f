package engine

import (
	"context"
	"time"
)

// A Group runs operations of another package together. Operations that wait at the same time share a transaction, on every database. One
// function runs all of them, so that it can lock rows in a fixed order and send the statements of all operations together.
type Group[T any] struct {
	db    *DB
	group *group
}

// A group is the kind of the operations of a Group.
type group struct {
	all func(context.Context, *Tx, []*op) error
}

// NewGroup returns a group that runs its operations with run. run receives at least one operation. It may be called more than once, and
// must set all results of the operations each time. An error of run fails the transaction, and is the error of all its operations; if the
// stored data or the arguments of one operation caused it, the operations are retried separately. To refuse a single operation, run writes
// nothing for it, and does not return an error. run must not use CallTables.
func NewGroup[T any](db *DB, run func(context.Context, *Tx, []*T) error) *Group[T] {
	return &Group[T]{db: db, group: &group{func(ctx context.Context, t *Tx, batch []*op) error { return run(ctx, t, items[T](batch)) }}}
}

// Do runs an operation inside the next transaction, and returns when that transaction is durable. bytes is the approximate size of the rows
// that the operation writes, which limits how many operations share a transaction. If ctx ends before the operation runs, it does not run.
func (g *Group[T]) Do(ctx context.Context, operation *T, bytes int) error {
	return g.db.queued(ctx, g.db.queues.groups, &op{kind: g.group, item: operation, bytes: bytes})
}

func items[T any](batch []*op) []*T {
	all := make([]*T, len(batch))
	for i, o := range batch {
		all[i], _ = o.item.(*T) // all items of a group have this type
	}
	return all
}

func (*group) patience(d *Dialect) time.Duration { return d.Patience }

func (*group) shared(*Dialect) bool { return true }

func (g *group) begin(t *Tx, _ []*op, _ int) work {
	t.scope, t.ending = besideCalls, always
	return groupWork{t, g}
}

type groupWork struct {
	t *Tx
	g *group
}

func (g groupWork) run(ctx context.Context, batch []*op) error {
	err := g.g.all(ctx, g.t, batch)
	if g.t.op.err != nil {
		err = g.t.op.err
	}
	if err == nil {
		err = g.t.op.fatal
	}
	if err != nil && g.t.w.db.dialect.constraint(err) {
		err = conflict{err} // caused by the data of one operation
	}
	return err
}

func (groupWork) write(context.Context) ([]Command, error) { return nil, nil }
