package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"hash/maphash"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/internal/bulk"
	"github.com/uimgate/uimgate/store/sqlstore/internal/direct"
	"github.com/uimgate/uimgate/store/sqlstore/internal/journal"
)

// An op is one operation waiting to be written.
type op struct {
	// rowSet holds the keys that a call reads or changes, determined in advance so that those of a batch are read together
	// and locked in order. nil: the operation runs its own statements, one after another.
	rowSet *rowSet
	aside  bool  // it runs its own statements, and none of them on what calls change; see Store.aside
	kind   *kind // of a group; nil: it is none of one
	item   any   // what the group knows of it
	bytes  int   // that it writes, in a group
	// run may be called again if the transaction has to be repeated, so it sets all its results anew.
	run   func(context.Context, *tx) error
	state atomic.Int32
	err   error
	done  chan struct{}
}

// The state of an op. The goroutine that changes it from opQueued decides whether it runs.
const (
	opQueued int32 = iota
	opRunning
	opAbandoned
)

var errClosed = errors.New("the store is closed")

// update runs one operation inside the next transaction, and returns when that is durable, with the operation's own
// error if it had one. If ctx ends first the operation does not run at all; once it runs, update waits for its end.
func (s *Store) update(ctx context.Context, run func(context.Context, *tx) error) error {
	return s.queued(ctx, s.others, &op{run: run})
}

// call is update for frequent operations: they change only what they need, and write by tx.write, after every check, so
// that there is nothing to undo where they fail.
func (s *Store) call(ctx context.Context, n *rowSet, run func(context.Context, *tx) error) error {
	return s.queued(ctx, s.lane(n.agentID), &op{rowSet: n, run: run})
}

// lane returns the queue for the calls of one agent, so that calls which would lock the same rows share a transaction.
func (s *Store) lane(who string) chan *op {
	return s.lanes[maphash.String(s.seed, who)%uint64(len(s.lanes))]
}

// full reports whether new calls of an agent have to be rejected: there must be room for the end of those that have
// begun.
func (s *Store) full(who string) bool {
	lane := s.lane(who)
	return len(lane) >= cap(lane)-cap(lane)/settleShare
}

// settleShare keeps a quarter of the queue from new calls.
const settleShare = 4

func (s *Store) queued(ctx context.Context, lane chan *op, o *op) error {
	if err := ctx.Err(); err != nil {
		return unavailable(err)
	}
	o.done = make(chan struct{})
	if err := s.enqueue(lane, o); err != nil {
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

func (s *Store) enqueue(lane chan *op, o *op) error {
	s.closing.RLock()
	defer s.closing.RUnlock()
	if s.closed {
		return errClosed
	}
	select {
	case lane <- o:
		return nil
	default:
		return store.ErrQueueFull
	}
}

// A writer owns one connection and runs queued operations in transactions.
type writer struct {
	s        *Store
	lane     chan *op
	next     *op // taken from the lane already
	conn     *sql.Conn
	settings string // that prepare the connection; empty: there are none
	stmts    map[string]*sql.Stmt
	last     int           // size of the previous batch
	took     time.Duration // of the previous batch
	known    known
	spent    spent
	late     *time.Timer // until what is pending is written into the tables; nil: nothing is
	witness  *witness    // nil: its transactions are not counted

	direct  direct.Runner
	encoder journal.Encoder
	joiner  bulk.Joiner
}

// run works until the lane is closed and empty.
func (w *writer) run(ctx context.Context) {
	for {
		first, open := w.wait(ctx)
		if !open {
			break
		}
		batch := w.gather(first)
		began := w.s.elapsed()
		_ = w.commit(ctx, batch) // whose operations have it
		w.took = w.s.elapsed() - began
		w.schedule()
	}
	w.drop()
}

// A writer of the only lane that has many callers waits for more of them, as long as its last transaction took: each page and each
// flush is then shared by more. Few callers wait for nobody.
const (
	manyCallers   = 16
	longestGather = 4 * time.Millisecond
)

// gather takes the operations that are waiting and can share a transaction, up to the bound of a batch. After a batch
// of several callers it lets them run first: they are about to queue their next operation.
func (w *writer) gather(first *op) []*op {
	switch {
	case w.last > manyCallers && w.s.dialect.sole:
		time.Sleep(min(w.took, longestGather))
	case w.last > 1:
		runtime.Gosched()
	}
	batch, bytes := append(make([]*op, 0, max(w.last, 1)), first), first.bytes
	for len(batch) < batchSize && (first.rowSet != nil || first.kind != nil || !w.s.dialect.alone) {
		select {
		case next, open := <-w.lane:
			if open && next.shares(first, bytes) {
				batch, bytes = append(batch, next), bytes+next.bytes
				continue
			}
			w.next = next
		default:
		}
		break
	}
	if first.kind != nil {
		batch = w.linger(batch, bytes)
	}
	w.last = len(batch)
	return batch
}

// attempts bounds how often a transaction is tried that conflicts with other writers.
const attempts = 5

// commit makes a batch durable, or fails all of it. Where one operation may have failed the others, each runs by
// itself. It returns the error that the batch failed with.
func (w *writer) commit(ctx context.Context, batch []*op) error {
	var t *tx
	var err error
	for n := 1; n <= attempts; n++ {
		t, err = w.try(ctx, batch, n)
		if errors.Is(err, errWentBack) {
			if err = w.s.setBack(ctx); err != nil {
				break
			}
			continue
		}
		if err == nil || !w.s.dialect.retriable(err) && (n > 2 || !isConflict(err)) && (n > 1 || !isStale(err)) {
			break
		}
	}
	if isConflict(err) && len(batch) > 1 {
		for i, o := range batch {
			if err := w.commit(ctx, []*op{o}); isUnanswered(err) {
				w.answer(batch[i+1:], errUnanswered)
				return err
			}
		}
		return nil
	}
	if err == nil {
		w.s.pace.took(t.asked, w.s.opts.Now())
		for _, f := range t.after {
			f()
		}
		if t.changed {
			w.s.changes.raise()
		}
	}
	w.answer(batch, err)
	switch _, away := errors.AsType[unreachable](err); {
	case away:
		w.fail(err)
	case isUnanswered(err) && batch[0].rowSet != nil:
		w.fail(errUnanswered)
	}
	return err
}

func (w *writer) answer(batch []*op, err error) {
	for _, o := range batch {
		if err != nil {
			o.err = unavailable(err) // for an abandoned op the error is not read
		}
		close(o.done)
	}
}

// try runs a batch in one transaction, for the n-th time from 1 on. After an error nothing of it is stored, unless the
// error is unsure.
func (w *writer) try(ctx context.Context, batch []*op, n int) (_ *tx, err error) {
	if d := w.patience(batch[0]); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	reused := w.conn != nil
	defer func() {
		if _, ended := errors.AsType[overtaken](err); err != nil && !ended {
			w.abort(ctx, err)
		}
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = unansweredError{err}
		}
	}()
	if err := w.connect(ctx); err != nil {
		return nil, unreachable{err}
	}
	t := &tx{w: w, ownStatements: batch[0].rowSet == nil, aside: batch[0].aside, presumes: n == 1}
	t.shared = len(batch) > 1 && batch[0].kind == nil
	t.unlocked = w.s.dialect.unlocked && !t.ownStatements && n <= freeAttempts
	if err := t.load(ctx, batch); err != nil {
		switch {
		case reused && w.s.dialect.lost(err) && ctx.Err() == nil:
			err = stale{err}
		case w.s.dialect.constraint(err):
			err = conflict{err}
		}
		return nil, err
	}
	// From here on nothing waits for others: every operation that was not abandoned runs.
	batch = slices.DeleteFunc(slices.Clone(batch), func(o *op) bool {
		return !o.state.CompareAndSwap(opQueued, opRunning) && o.state.Load() == opAbandoned
	})
	if err := t.run(ctx, batch); err != nil {
		return nil, err
	}
	counters, accounts := t.counters, t.accounts // of calls
	if err := t.end(ctx); err != nil {
		return t, err
	}
	t.acknowledge()
	w.learn(t, counters, accounts)
	return t, nil
}

// learn keeps what is known after a transaction.
func (w *writer) learn(t *tx, counters map[counterKey]*counter, accounts map[accountKey]*cachedAccount) {
	if !w.s.dialect.sole || t.aside {
		return
	}
	w.known.committed(t)
	if t.ownStatements {
		w.known.counters, w.known.accounts = nil, nil // which they may have changed
		return
	}
	w.known.learn(counters, accounts)
}

func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.s.write.Conn(ctx)
	if err != nil {
		return err
	}
	w.conn, w.stmts, w.spent = conn, map[string]*sql.Stmt{}, spent{}
	if w.settings != "" {
		if _, err := conn.ExecContext(ctx, w.settings); err != nil {
			return err
		}
	}
	if w.witness != nil {
		w.s.compareServer(ctx, conn)
	}
	return nil
}

// abort ends a failed transaction and its connection: after some failures (a full disk, an I/O error) the database has
// rolled back by itself, and a statement run then would be a transaction of its own.
func (w *writer) abort(ctx context.Context, why error) {
	w.known.forget()
	if w.conn == nil {
		return
	}
	if !w.s.dialect.lost(why) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = w.exec(ctx, "ROLLBACK") // fails where the database has done it already
	}
	w.release()
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
	w.drop()
}

// release ends the prepared statements of the connection.
func (w *writer) release() {
	for _, s := range w.stmts {
		_ = s.Close()
	}
	w.direct.Close()
	w.stmts = nil
}

func (w *writer) drop() {
	if w.conn != nil {
		w.release()
		_ = w.conn.Close()
		w.conn = nil
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

// exec runs a statement and returns how many rows it changed.
func (w *writer) exec(ctx context.Context, query string, args ...any) (int64, error) {
	s, err := w.stmt(ctx, query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// query calls each with every row.
func (w *writer) query(ctx context.Context, query string, args []any, each func(scan) error) error {
	s, err := w.stmt(ctx, query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return drain(rows, each)
}
