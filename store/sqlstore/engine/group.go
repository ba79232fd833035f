package engine

import (
	"context"
	"time"
)

// A Group is operations of another package that run together: those that wait at the same time share a transaction, on every engine, and
// one function runs all of them, so that it can lock what they need in one order, and send statements together.
type Group[T any] struct {
	db    *DB
	group *group
}

// A group runs operations by one function.
type group struct {
	all func(context.Context, *Tx, []*op) error
}

// NewGroup makes a group whose operations run runs. run gets at least one operation, and sets all their results, anew each time: it may
// run more than once. Its error fails the transaction and is that of all of them; if it concerns the data of one, each is tried again
// separately. To refuse only one operation, run returns no error, and writes nothing for that operation. It must not touch the tables
// that calls change.
func NewGroup[T any](db *DB, run func(context.Context, *Tx, []*T) error) *Group[T] {
	return &Group[T]{db: db, group: &group{func(ctx context.Context, t *Tx, batch []*op) error { return run(ctx, t, items[T](batch)) }}}
}

// Do runs an operation inside the next transaction, and returns when that is durable. bytes is approximately how much it writes: a
// transaction has at most some MiB. If ctx ends before the operation runs, it does not run.
func (g *Group[T]) Do(ctx context.Context, operation *T, bytes int) error {
	return g.db.queued(ctx, g.db.queues.groups, &op{kind: g.group, item: operation, bytes: bytes})
}

func items[T any](batch []*op) []*T {
	all := make([]*T, len(batch))
	for i, o := range batch {
		all[i], _ = o.item.(*T) // of one kind
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
	if err == nil {
		err = g.t.op.fatal
	}
	if err != nil && g.t.w.db.dialect.constraint(err) {
		err = conflict{err} // of one of them
	}
	return err
}

func (groupWork) write(context.Context) ([]Command, error) { return nil, nil }
