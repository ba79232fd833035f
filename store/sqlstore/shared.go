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
// results anew. If ctx ends before the operation runs, it does not run. It must not touch the tables that calls change.
func (s *Store) Update(ctx context.Context, run func(context.Context, Tx) error) error {
	return s.aside(ctx, func(ctx context.Context, t *tx) error { return run(ctx, Tx{t}) })
}

// A Group is operations of another package of store that run together: those that wait at the same time share a transaction, on every
// engine, and one function runs all of them, so that it can lock what they need in one order, and send statements together.
type Group[T any] struct {
	s    *Store
	kind *kind
}

// A kind of operation tells which may share a transaction.
type kind struct {
	run func(context.Context, *tx, []*op) error
}

// NewGroup makes a group whose operations run runs. It is given at least one, and sets all their results, anew each time: it may run
// more than once. Its error fails the transaction and is that of all of them; where it is about the data of one, each is tried again by
// itself. What only one operation is refused for is therefore none, and nothing of that operation may have been written. It must not touch
// the tables that calls change.
func NewGroup[T any](s *Store, run func(context.Context, Tx, []*T) error) *Group[T] {
	return &Group[T]{s: s, kind: &kind{run: func(ctx context.Context, t *tx, batch []*op) error {
		all := make([]*T, len(batch))
		for i, o := range batch {
			all[i], _ = o.item.(*T) // of this group
		}
		return run(ctx, Tx{t}, all)
	}}}
}

// Do runs an operation inside the next transaction, and returns when that is durable. bytes is how much it writes, about: a transaction
// has no more than some MiB. If ctx ends before the operation runs, it does not run.
func (g *Group[T]) Do(ctx context.Context, operation *T, bytes int) error {
	return g.s.queued(ctx, g.s.groups, &op{kind: g.kind, aside: true, item: operation, bytes: bytes})
}

// batchBytes bounds what the operations of a group write in one transaction, but for one that writes more by itself.
const batchBytes = 4 << 20

// shares reports whether a further operation may share the transaction of others, which write so much already.
func (o *op) shares(other *op, bytes int) bool {
	return (o.rowSet == nil) == (other.rowSet == nil) && o.aside == other.aside && o.kind == other.kind &&
		(o.kind == nil || bytes+o.bytes <= batchBytes)
}

// The part of the time of the last batch of a group for which the next one waits, and its bound.
const (
	lingerShare   = 4
	longestLinger = 2 * time.Millisecond
)

// linger lets those whose operations were in the last batch of a group come again: otherwise callers come in two halves, which take
// turns, and each waits for the flush of the other. Who is alone waits for nobody.
func (w *writer) linger(batch []*op, bytes int) []*op {
	most, pause := min(batchSize, w.last+len(batch)), min(w.took/lingerShare, longestLinger)
	if w.next != nil || w.last < 2 || pause <= 0 || w.s.dialect.sole && w.last > manyCallers {
		return batch
	}
	over := time.NewTimer(pause)
	defer over.Stop()
	for len(batch) < most {
		select {
		case next, open := <-w.lane:
			if open && next.shares(batch[0], bytes) {
				batch, bytes = append(batch, next), bytes+next.bytes
				continue
			}
			w.next = next
		case <-over.C:
		}
		break
	}
	return batch
}

// group runs the operations of a group.
func (t *tx) group(ctx context.Context, batch []*op) error {
	err := batch[0].kind.run(ctx, t, batch)
	if err == nil {
		err = t.fatal
	}
	if err != nil && t.w.s.dialect.constraint(err) {
		err = conflict{err} // of one of them
	}
	return err
}

// A Command is one of several statements that are sent together.
type Command struct {
	Query string
	Args  []any
	Row   func(scan func(dest ...any) error) error // called with every row; nil: it returns none
	Must  int                                      // how many rows it has to change, else the transaction is tried again; 0: any number
}

func commands(list []Command) []command {
	out := make([]command, len(list))
	for i, c := range list {
		out[i] = command{query: c.Query, args: c.Args, must: c.Must}
		if c.Row != nil {
			out[i].row = func(s scan) error { return c.Row(s) }
		}
	}
	return out
}

// Send runs statements of a group in their order, in one round trip where the database has a server.
func (x Tx) Send(ctx context.Context, list []Command) error {
	for _, c := range list {
		if err := x.t.permit(c.Query); err != nil {
			return err
		}
	}
	if err := x.t.w.send(ctx, commands(list)); err != nil {
		return x.t.failed(err)
	}
	return nil
}

// Last runs statements of a group with the end of the transaction, after all others.
func (x Tx) Last(list []Command) {
	for _, c := range list {
		if err := x.t.permit(c.Query); err != nil {
			x.t.fatal = err
		}
	}
	x.t.closing = append(x.t.closing, commands(list)...)
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
