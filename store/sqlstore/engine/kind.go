package engine

import (
	"context"
	"time"
)

// A kind of operation decides how its operations run. Those of one kind may share a transaction.
type kind interface {
	// patience bounds one attempt at a transaction; 0: the database bounds it.
	patience(d *Dialect) time.Duration
	// shared reports whether its operations share transactions.
	shared(d *Dialect) bool
	// begin returns the work of a transaction on some operations, for the n-th attempt from 1 on.
	begin(t *Tx, batch []*op, n int) work
}

// A work is what one transaction does.
type work interface {
	// read returns the statements that read what the operations need. They are sent before the clock is read.
	read(ctx context.Context) ([]Command, error)
	// run runs those operations that were not abandoned. An error ends the transaction.
	run(ctx context.Context, batch []*op) error
	// write returns the statements that write what was changed.
	write(ctx context.Context) ([]Command, error)
}

// scope is what the statements of a transaction may touch.
type scope int

const (
	everything scope = iota
	besideCalls
)

// Operations that run their own statements, each in a savepoint of its own where it is not alone.
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

// ownStatements is the work of such operations.
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

// A Group is operations of another package that run together: those that wait at the same time share a transaction, on every
// engine, and one function runs all of them, so that it can lock what they need in one order, and send statements together.
type Group[T any] struct {
	db    *DB
	group *group
}

// A group runs operations by one function.
type group struct {
	all func(context.Context, *Tx, []*op) error
}

// NewGroup makes a group whose operations run runs. It is given at least one, and sets all their results, anew each time: it may run
// more than once. Its error fails the transaction and is that of all of them; where it is about the data of one, each is tried again by
// itself. If only one operation is to be refused, run returns no error, and writes nothing of that operation. It must not touch the
// tables that calls change.
func NewGroup[T any](db *DB, run func(context.Context, *Tx, []*T) error) *Group[T] {
	return &Group[T]{db: db, group: &group{func(ctx context.Context, t *Tx, batch []*op) error { return run(ctx, t, items[T](batch)) }}}
}

// Do runs an operation inside the next transaction, and returns when that is durable. bytes is how much it writes, about: a transaction
// has no more than some MiB. If ctx ends before the operation runs, it does not run.
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

func (groupWork) read(context.Context) ([]Command, error) { return nil, nil }

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

func (g groupWork) write(context.Context) ([]Command, error) { return g.t.closing, nil }

// Calls are frequent operations. What they need is read before they run, and what they change is written when all have run, after
// every check, so that there is nothing to undo where one fails.
type Calls[T any] struct {
	db   *DB
	kind *calls
}

// A Turn is the work of one transaction of calls.
type Turn[T any] interface {
	// Read returns the statements that read what the calls need. The clock is read after them.
	Read(ctx context.Context) ([]Command, error)
	// Run runs the calls. An error fails all of them.
	Run(ctx context.Context, calls []*T) error
	// Write returns the statements that write what they changed.
	Write(ctx context.Context) ([]Command, error)
}

type calls struct {
	turn func(t *Tx, batch []*op, n int) work
}

// freeAttempts is how often a transaction of calls is tried without locks on a Shared database. The last attempts lock what they read,
// so that they succeed.
const freeAttempts = 2

// NewCalls makes calls whose transactions have the work of begin. Attempt counts from 1.
func NewCalls[T any](db *DB, begin func(t *Tx, calls []*T, attempt int) Turn[T]) *Calls[T] {
	return &Calls[T]{db: db, kind: &calls{func(t *Tx, batch []*op, n int) work { return turnWork[T]{begin(t, items[T](batch), n)} }}}
}

// Do runs a call of an agent inside the next transaction, and returns when that is durable.
func (c *Calls[T]) Do(ctx context.Context, agent string, call *T) error {
	return c.db.queued(ctx, c.db.queues.lane(agent), &op{kind: c.kind, item: call})
}

// Full reports whether new calls of an agent have to be rejected: there must be room for the end of those that have
// begun.
func (c *Calls[T]) Full(agent string) bool {
	lane := c.db.queues.lane(agent)
	return len(lane) >= cap(lane)-cap(lane)/settleShare
}

func (*calls) patience(d *Dialect) time.Duration { return d.CallPatience }

func (*calls) shared(*Dialect) bool { return true }

func (c *calls) begin(t *Tx, batch []*op, n int) work {
	if t.w.db.dialect.Sharing == Shared && n <= freeAttempts {
		t.locking = Optimistic
	}
	return c.turn(t, batch, n)
}

type turnWork[T any] struct{ turn Turn[T] }

func (w turnWork[T]) read(ctx context.Context) ([]Command, error) { return w.turn.Read(ctx) }

func (w turnWork[T]) run(ctx context.Context, batch []*op) error {
	return w.turn.Run(ctx, items[T](batch))
}

func (w turnWork[T]) write(ctx context.Context) ([]Command, error) { return w.turn.Write(ctx) }
