package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"runtime"
	"slices"
	"time"
)

// A Writer owns one connection and runs queued operations in transactions.
type Writer struct {
	db       *DB
	lane     chan *op
	next     *op // taken from the lane already
	conn     *sql.Conn
	settings string // that prepare the connection; empty: there are none
	stmts    map[string]*sql.Stmt
	version  int64 // of an Exclusive database, as other connections have changed it
	last     batchOf
	late     *time.Timer // until what is pending is written into the tables; nil: nothing is
	witness  *witness    // nil: its transactions are not counted
}

// batchOf is the previous batch of a writer.
type batchOf struct {
	size int
	took time.Duration
}

// run works until the lane is closed and empty.
func (w *Writer) run(ctx context.Context) {
	for {
		first, open := w.wait(ctx)
		if !open {
			break
		}
		batch := w.gather(first)
		began := w.db.clocks.elapsed()
		_ = w.commit(ctx, batch) // whose operations have it
		w.last.took = w.db.clocks.elapsed() - began
		w.schedule()
	}
	w.drop()
}

// longPending is how long the tables may lack what is committed.
const longPending = time.Second

// wait returns the next operation; false: there is none any more. Meanwhile it writes what has been pending for long.
func (w *Writer) wait(ctx context.Context) (first *op, open bool) {
	if first, w.next = w.next, nil; first != nil {
		return first, true
	}
	for {
		var late <-chan time.Time
		if w.late != nil {
			late = w.late.C
		}
		select {
		case first, open = <-w.lane:
			return first, open
		case <-late:
			w.late = nil
			w.catchUp(ctx)
			w.schedule()
		}
	}
}

// catchUp has the tables have everything. Where that fails the journal still has it.
func (w *Writer) catchUp(ctx context.Context) {
	_ = w.commit(ctx, []*op{{kind: update, run: nothing, done: make(chan struct{})}})
}

// schedule sees to it that what is pending is not so for long.
func (w *Writer) schedule() {
	behind := w.db.Layer != nil && w.db.dialect.Sharing == Exclusive && w.db.Layer.Behind()
	switch {
	case behind && w.late == nil:
		w.late = time.NewTimer(longPending)
	case !behind && w.late != nil:
		w.late.Stop()
		w.late = nil
	}
}

// A writer of the only lane that has many callers waits for more of them, as long as its last transaction took: each page and each
// flush is then shared by more. Few callers wait for nobody.
const (
	manyCallers   = 16
	longestGather = 4 * time.Millisecond
)

// batchBytes bounds what the operations of a group write in one transaction, but for one that writes more by itself.
const batchBytes = 4 << 20

// A batch is operations that share a transaction.
type batch struct {
	ops   []*op
	bytes int
}

// take adds an operation, unless it cannot share the transaction.
func (b *batch) take(o *op) bool {
	if o.kind != b.ops[0].kind || b.bytes+o.bytes > batchBytes {
		return false
	}
	b.ops, b.bytes = append(b.ops, o), b.bytes+o.bytes
	return true
}

// gather takes the operations that are waiting and can share a transaction, up to the bound of a batch. After a batch
// of several callers it lets them run first: they are about to queue their next operation.
func (w *Writer) gather(first *op) []*op {
	switch {
	case w.last.size > manyCallers && w.db.dialect.Sharing == Exclusive:
		time.Sleep(min(w.last.took, longestGather))
	case w.last.size > 1:
		runtime.Gosched()
	}
	b := batch{append(make([]*op, 0, max(w.last.size, 1)), first), first.bytes}
	for len(b.ops) < batchSize && first.kind.shared(w.db.dialect) {
		select {
		case next, open := <-w.lane:
			if open && b.take(next) {
				continue
			}
			w.next = next
		default:
		}
		break
	}
	if _, grouped := first.kind.(*group); grouped {
		w.linger(&b)
	}
	w.last.size = len(b.ops)
	return b.ops
}

// The part of the time of the last batch of a group for which the next one waits, and its bound.
const (
	lingerShare   = 4
	longestLinger = 2 * time.Millisecond
)

// linger lets those whose operations were in the last batch of a group come again: otherwise callers come in two halves, which take
// turns, and each waits for the flush of the other. Who is alone waits for nobody.
func (w *Writer) linger(b *batch) {
	most, pause := min(batchSize, w.last.size+len(b.ops)), min(w.last.took/lingerShare, longestLinger)
	if w.next != nil || w.last.size < 2 || pause <= 0 || w.db.dialect.Sharing == Exclusive && w.last.size > manyCallers {
		return
	}
	over := time.NewTimer(pause)
	defer over.Stop()
	for len(b.ops) < most {
		select {
		case next, open := <-w.lane:
			if open && b.take(next) {
				continue
			}
			w.next = next
		case <-over.C:
		}
		return
	}
}

// attempts bounds how often a transaction is tried that conflicts with other writers.
const attempts = 5

// commit makes a batch durable, or fails all of it. Where one operation may have failed the others, each runs by
// itself. It returns the error that the batch failed with.
func (w *Writer) commit(ctx context.Context, batch []*op) error {
	var t *Tx
	var err error
	for n := 1; n <= attempts; n++ {
		t, err = w.try(ctx, batch, n)
		if errors.Is(err, errWentBack) {
			if err = w.db.setBack(ctx); err != nil {
				break
			}
			continue
		}
		if err == nil || !w.db.dialect.Retriable(err) && (n > 2 || !is[conflict](err)) && (n > 1 || !is[stale](err)) {
			break
		}
	}
	if is[conflict](err) && len(batch) > 1 {
		for i, o := range batch {
			if err := w.commit(ctx, []*op{o}); is[unansweredError](err) {
				w.answer(batch[i+1:], errUnanswered)
				return err
			}
		}
		return nil
	}
	if err == nil {
		w.db.clocks.pace.took(t.times.asked, w.db.opts.Now())
		if t.changed {
			w.db.changes.raise()
		}
	}
	w.answer(batch, err)
	_, call := batch[0].kind.(*calls)
	switch {
	case is[unreachable](err):
		w.fail(err)
	case is[unansweredError](err) && call:
		w.fail(errUnanswered)
	}
	return err
}

func (w *Writer) answer(batch []*op, err error) {
	for _, o := range batch {
		if err != nil {
			o.err = Unavailable(err) // for an abandoned op the error is not read
		}
		close(o.done)
	}
}

// fail answers all callers that wait for a database that cannot be reached, or does not answer: one after another they would wait too
// long.
func (w *Writer) fail(err error) {
	if w.next != nil {
		w.answer([]*op{w.next}, err)
		w.next = nil
	}
	for range len(w.lane) {
		select {
		case o, open := <-w.lane:
			if open {
				w.answer([]*op{o}, err)
			}
		default:
			return
		}
	}
}

// try runs a batch in one transaction, for the n-th time from 1 on. After an error nothing of it is stored, unless the
// error is unsure.
func (w *Writer) try(ctx context.Context, batch []*op, n int) (_ *Tx, err error) {
	d := w.db.dialect
	if p := batch[0].kind.patience(d); p > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p)
		defer cancel()
	}
	reused := w.conn != nil
	defer func() {
		if err != nil && !is[overtaken](err) {
			w.abort(ctx, err)
		}
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = unansweredError{err}
		}
	}()
	if err := w.connect(ctx); err != nil {
		return nil, unreachable{err}
	}
	t := &Tx{w: w}
	work := batch[0].kind.begin(t, batch, n)
	if err := t.load(ctx, work); err != nil {
		switch {
		case reused && d.Lost(err) && ctx.Err() == nil:
			err = stale{err}
		case d.constraint(err):
			err = conflict{err}
		}
		return nil, err
	}
	// From here on nothing waits for others: every operation that was not abandoned runs.
	batch = slices.DeleteFunc(slices.Clone(batch), func(o *op) bool {
		return !o.state.CompareAndSwap(opQueued, opRunning) && o.state.Load() == opAbandoned
	})
	if len(batch) > 0 {
		if err := work.run(ctx, batch); err != nil {
			return nil, err
		}
	}
	if err := t.end(ctx, work); err != nil {
		return t, err
	}
	t.acknowledge()
	for _, f := range t.after {
		f()
	}
	return t, nil
}

func (w *Writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.db.write.Conn(ctx)
	if err != nil {
		return err
	}
	w.conn, w.stmts, w.version = conn, map[string]*sql.Stmt{}, 0
	if w.settings != "" {
		if _, err := conn.ExecContext(ctx, w.settings); err != nil {
			return err
		}
	}
	if w.witness != nil {
		w.db.compareServer(ctx, conn)
	}
	return nil
}

// selectVersion changes with every transaction of another connection, and with none of this one:
// https://sqlite.org/pragma.html#pragma_data_version
const selectVersion = "PRAGMA data_version"

// beginAlone starts a transaction on an Exclusive database. From then on nobody else writes, and what was known is forgotten if others
// have written before.
func (w *Writer) beginAlone(ctx context.Context) error {
	var version int64
	err := w.send(ctx, []Command{
		{Query: w.db.dialect.begin},
		{Query: selectVersion, Row: func(scan Scan) error { return scan(&version) }},
	})
	if version != w.version && w.db.Layer != nil {
		w.db.Layer.Forget()
	}
	w.version = version
	return err
}

// abort ends a failed transaction and its connection: after some failures (a full disk, an I/O error) the database has
// rolled back by itself, and a statement run then would be a transaction of its own.
func (w *Writer) abort(ctx context.Context, why error) {
	if w.db.Layer != nil && w.db.dialect.Sharing == Exclusive {
		w.db.Layer.Forget()
	}
	if w.conn == nil {
		return
	}
	if !w.db.dialect.Lost(why) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = w.exec(ctx, "ROLLBACK") // fails where the database has done it already
	}
	w.release()
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
	w.drop()
}

// release ends the prepared statements of the connection.
func (w *Writer) release() {
	for _, s := range w.stmts {
		_ = s.Close()
	}
	w.stmts = nil
}

func (w *Writer) drop() {
	if w.conn != nil {
		w.release()
		_ = w.conn.Close()
		w.conn = nil
	}
}

// send runs statements in the way of the dialect.
func (w *Writer) send(ctx context.Context, list []Command) error {
	if len(list) == 0 {
		return nil
	}
	return w.db.dialect.Send(ctx, w, list)
}

// stmt prepares each statement once per connection.
func (w *Writer) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := w.stmts[query]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(ctx, w.db.dialect.Rewrite(query))
	if err != nil {
		return nil, err
	}
	w.stmts[query] = s
	return s, nil
}

// exec runs a statement and returns how many rows it changed.
func (w *Writer) exec(ctx context.Context, query string, args ...any) (int64, error) {
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
func (w *Writer) query(ctx context.Context, query string, args []any, each func(Scan) error) error {
	s, err := w.stmt(ctx, query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return Drain(rows, each)
}
