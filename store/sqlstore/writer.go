package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
)

// An op is one operation waiting to be written.
type op struct {
	keys []counterKey // the counters it reads or changes, known beforehand so that they are locked in order
	// run may be called again if the transaction has to be repeated, so it sets all its results anew.
	run   func(context.Context, *tx) error
	state atomic.Int32
	err   error
	done  chan struct{}
}

// Where an op is. Whoever moves it away from opQueued decides whether it runs.
const (
	opQueued int32 = iota
	opRunning
	opAbandoned
)

var (
	errQueueFull = errors.New("too many writes are waiting")
	errClosed    = errors.New("the store is closed")
)

// update runs one operation inside the next transaction, and returns when that is durable, with the
// operation's own error if it had one. If ctx ends first the operation does not run at all; once it
// runs, its answer is waited for.
func (s *Store) update(ctx context.Context, run func(context.Context, *tx) error, keys ...counterKey) error {
	if err := ctx.Err(); err != nil {
		return unavailable(err)
	}
	o := &op{keys: keys, run: run, done: make(chan struct{})}
	if err := s.enqueue(o); err != nil {
		return unavailable(err)
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		if o.state.CompareAndSwap(opQueued, opAbandoned) {
			return unavailable(ctx.Err())
		}
		<-o.done
	}
	return o.err
}

func (s *Store) enqueue(o *op) error {
	s.closing.RLock()
	defer s.closing.RUnlock()
	if s.closed {
		return errClosed
	}
	select {
	case s.queue <- o:
		return nil
	default:
		return errQueueFull
	}
}

// A writer owns one connection and turns what is queued into transactions.
type writer struct {
	s     *Store
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	last  int // size of the batch before
}

// run works until the queue is closed and empty.
func (w *writer) run(ctx context.Context) {
	for first := range w.s.queue {
		w.commit(ctx, w.gather(first))
	}
	w.drop()
}

// gather takes what is waiting, up to the bound of a batch. After a batch shared by several callers it
// lets them run first: they are about to queue their next operation.
func (w *writer) gather(first *op) []*op {
	if w.last > 1 {
		runtime.Gosched()
	}
	batch := make([]*op, 0, max(w.last, 1))
	for o := first; ; {
		batch = append(batch, o)
		if len(batch) == w.s.opts.Batch {
			break
		}
		select {
		case next, open := <-w.s.queue:
			if open {
				o = next
				continue
			}
		default:
		}
		break
	}
	w.last = len(batch)
	return batch
}

// attempts bounds how often a transaction is tried that loses to other writers.
const attempts = 5

// commit makes a batch durable, or fails all of it.
func (w *writer) commit(ctx context.Context, batch []*op) {
	t, err := w.try(ctx, batch)
	for n := 1; err != nil && n < attempts && w.s.dialect.again(err); n++ {
		t, err = w.try(ctx, batch)
	}
	if err == nil {
		for _, f := range t.after {
			f()
		}
		if t.changed {
			w.s.changes.raise()
		}
	}
	for _, o := range batch {
		if err != nil {
			o.err = unavailable(err) // nobody reads it of an op that was given up
		}
		close(o.done)
	}
}

// try runs a batch in one transaction. On an error nothing of it is stored, as far as anyone can know.
func (w *writer) try(ctx context.Context, batch []*op) (_ *tx, err error) {
	defer func() {
		if err != nil {
			w.abort(ctx)
		}
	}()
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	if err := w.command(ctx, w.s.dialect.begin); err != nil {
		return nil, err
	}
	// From here on nothing waits for others: what has not been given up runs.
	batch = slices.DeleteFunc(slices.Clone(batch), func(o *op) bool {
		return !o.state.CompareAndSwap(opQueued, opRunning) && o.state.Load() == opAbandoned
	})
	t := &tx{w: w, now: w.s.now()}
	if err := t.loadCounters(ctx, batch); err != nil {
		return nil, err
	}
	for _, o := range batch {
		if err := t.one(ctx, o); err != nil {
			return nil, err
		}
	}
	if err := t.storeCounters(ctx); err != nil {
		return nil, err
	}
	return t, w.command(ctx, "COMMIT")
}

func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.s.write.Conn(ctx)
	if err != nil {
		return err
	}
	w.conn, w.stmts = conn, map[string]*sql.Stmt{}
	return nil
}

// abort ends a failed transaction and its connection: after some failures (a full disk, an I/O error)
// the database has rolled back by itself, and a statement run then would be a transaction of its own.
func (w *writer) abort(ctx context.Context) {
	if w.conn == nil {
		return
	}
	_ = w.command(ctx, "ROLLBACK") // fails where the database did it already
	for _, s := range w.stmts {
		_ = s.Close()
	}
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
	w.drop()
}

func (w *writer) drop() {
	if w.conn != nil {
		for _, s := range w.stmts {
			_ = s.Close()
		}
		_ = w.conn.Close()
		w.conn, w.stmts = nil, nil
	}
}

// stmt prepares each statement once per connection.
func (w *writer) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := w.stmts[query]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(ctx, w.s.dialect.rewrite(query))
	if err != nil {
		return nil, err
	}
	w.stmts[query] = s
	return s, nil
}

// command runs a statement without arguments.
func (w *writer) command(ctx context.Context, query string) error {
	s, err := w.stmt(ctx, query)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(ctx)
	return err
}
