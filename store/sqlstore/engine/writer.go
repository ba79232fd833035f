package engine

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// run works until the lane is closed and empty.
func (w *Writer) run(ctx context.Context) {
	for {
		first, open := w.wait(ctx)
		if !open {
			break
		}
		batch := w.gather(first)
		began := w.db.clocks.elapsed()
		_ = w.commit(ctx, batch) // the operations return the error
		w.last.took = w.db.clocks.elapsed() - began
		w.schedule()
	}
	w.drop()
}

// longPending is how long the tables may lack committed changes.
const longPending = time.Second

// wait returns the next operation, or false if the lane is closed and empty. While it waits, it writes changes that have been pending for
// longPending.
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

// catchUp writes pending changes into the tables. If this fails, the journal still has them.
func (w *Writer) catchUp(ctx context.Context) {
	_ = w.commit(ctx, []*op{{kind: update, run: nothing, done: make(chan struct{})}})
}

// schedule starts the timer that limits how long changes are pending, or stops it if none are pending.
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

// On an Exclusive database, if the last batch had more than manyCallers operations, the writer waits for more of them: as long as its last
// transaction took, but at most longestGather. More callers then share each page and each flush. With fewer callers, it does not wait.
const (
	manyCallers   = 16
	longestGather = 4 * time.Millisecond
)

// batchBytes limits the bytes that the operations of a group write in one transaction. An operation that writes more has a separate
// transaction.
const batchBytes = 4 << 20

// A batch holds the operations that share a transaction.
type batch struct {
	ops   []*op
	bytes int
}

// take adds an operation, unless the operation cannot share the transaction, and reports whether it did.
func (b *batch) take(o *op) bool {
	if o.kind != b.ops[0].kind || b.bytes+o.bytes > batchBytes {
		return false
	}
	b.ops, b.bytes = append(b.ops, o), b.bytes+o.bytes
	return true
}

// gather returns a batch: the operation first, and the waiting operations that can share its transaction, at most batchSize in total. If
// the last batch had several callers, gather lets them run first, because they are about to queue their next operations.
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

// A batch of a group waits for 1/lingerShare of the time that the last batch took, at most longestLinger.
const (
	lingerShare   = 4
	longestLinger = 2 * time.Millisecond
)

// linger waits for the callers of a group's last batch to queue their next operations. Without this wait, the callers would form two halves
// that alternate, and each half would wait for the flush of the other. A single caller does not wait.
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

// attempts is how many times a transaction that conflicts with other writers is tried.
const attempts = 5

// commit makes a batch durable, or fails all its operations and returns the error. If one operation may have made the others fail, commit
// instead runs each operation separately, and returns an error only if the database stops responding.
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
		w.db.clocks.pace.Took(t.times.requestedAt, w.db.opts.Now())
		if t.changed {
			w.db.changes.raise()
		}
	}
	w.lend() // before a caller queues its next operation, perhaps for another writer
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
			o.err = Unavailable(err) // the error of an abandoned op is not read
		}
		close(o.done)
	}
}

// fail returns an error to all callers that wait in the lane. It is called when the database is unreachable or does not respond, because
// trying one operation after another would take too long.
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
