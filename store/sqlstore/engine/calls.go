package engine

import (
	"context"
	"time"
)

// Calls runs frequent operations in shared transactions. Before the operations run, the transaction reads the rows that they need. After
// all of them have run, it writes the rows that they changed. If an operation fails, there is therefore nothing to undo.
type Calls[T any] struct {
	db   *DB
	kind *calls
}

// A Turn is the work of one transaction of calls.
type Turn[T any] interface {
	// Read returns the statements that read the rows that the calls need. They are sent before the clock is read.
	Read(ctx context.Context) ([]Command, error)
	// Run runs the calls. An error fails all of them.
	Run(ctx context.Context, calls []*T) error
	// Write returns the statements that write the changes of the calls.
	Write(ctx context.Context) ([]Command, error)
}

type calls struct {
	turn func(t *Tx, batch []*op, n int) work
}

// freeAttempts is how many times a transaction of calls is tried without locks on a Shared database. Later attempts lock the rows that they
// read, so that no other writer can change them.
const freeAttempts = 2

// NewCalls returns a Calls. For each attempt at a transaction, begin returns the work to do; attempt counts from 1.
func NewCalls[T any](db *DB, begin func(t *Tx, calls []*T, attempt int) Turn[T]) *Calls[T] {
	return &Calls[T]{db: db, kind: &calls{func(t *Tx, batch []*op, n int) work { return turnWork[T]{begin(t, items[T](batch), n)} }}}
}

// Do runs a call of an agent inside the next transaction, and returns when that transaction is durable. The error is that of the
// transaction. If ctx ends before the call runs, it does not run.
func (c *Calls[T]) Do(ctx context.Context, agent string, call *T) error {
	return c.db.queued(ctx, c.db.queues.lane(agent), &op{kind: c.kind, item: call})
}

// Full reports whether new calls of an agent must be rejected, so that there is space in the queue to settle calls that have begun.
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
