package engine

import (
	"context"
	"hash/maphash"

	"github.com/uimgate/uimgate/store"
)

// Go runs work in a goroutine that Close waits for. If the database is closed or has not been started, Go does not run work and returns
// false.
func (db *DB) Go(work func()) bool {
	db.lifetime.closing.RLock()
	defer db.lifetime.closing.RUnlock()
	if db.lifetime.closed || !db.lifetime.started {
		return false
	}
	db.lifetime.work.Go(work)
	return true
}

// Ending returns a channel that is closed when Close is called.
func (db *DB) Ending() <-chan struct{} { return db.lifetime.ending }

// Changed returns a channel that is closed when this process next commits something that other processes must read, or is notified of a
// change by another process.
func (db *DB) Changed() <-chan struct{} { return db.changes.next() }

const (
	queueLength = 16 << 10 // operations that may wait in a queue; a burst of ten thousand calls is not refused
	batchSize   = 256      // maximum number of operations in a transaction
	settleShare = 4        // a quarter of a queue is reserved for settling calls
)

func (q *queues) open(d *Dialect, length int) {
	q.seed = maphash.MakeSeed()
	for range d.lanes {
		q.lanes = append(q.lanes, make(chan *op, length))
	}
	q.others, q.groups = q.lanes[0], q.lanes[0]
	if d.others > 0 {
		q.others = make(chan *op, length)
	}
	if d.groups > 0 {
		q.groups = make(chan *op, length)
	}
}

func (q *queues) close() {
	for _, lane := range q.lanes {
		close(lane)
	}
	if q.others != q.lanes[0] {
		close(q.others)
	}
	if q.groups != q.lanes[0] {
		close(q.groups)
	}
}

// lane returns the queue for the calls of an agent. All calls of an agent use the same queue, so that calls that need the same rows share a
// transaction.
func (q *queues) lane(who string) chan *op {
	return q.lanes[maphash.String(q.seed, who)%uint64(len(q.lanes))]
}

func (db *DB) queued(ctx context.Context, lane chan *op, o *op) error {
	if err := ctx.Err(); err != nil {
		return Unavailable(err)
	}
	o.done = make(chan struct{})
	if err := db.enqueue(lane, o); err != nil {
		return Unavailable(err)
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		if o.state.CompareAndSwap(opQueued, opAbandoned) {
			return Unavailable(ctx.Err())
		}
		<-o.done
	}
	return o.err
}

func (db *DB) enqueue(lane chan *op, o *op) error {
	db.lifetime.closing.RLock()
	defer db.lifetime.closing.RUnlock()
	if db.lifetime.closed {
		return errClosed
	}
	select {
	case lane <- o:
		return nil
	default:
		return store.ErrQueueFull
	}
}
