package engine

import (
	"context"
	"hash/maphash"
	"sync/atomic"

	"github.com/uimgate/uimgate/store"
)

const (
	queueLength = 16 << 10 // operations that may wait: a burst of ten thousand calls is decided, not refused with store.ErrUnavailable
	batchSize   = 256      // operations that share one transaction, at most
	settleShare = 4        // a quarter of a queue is kept from new calls
)

// queues are those of the writers.
type queues struct {
	lanes  []chan *op // calls, by agent
	others chan *op   // everything else; the first lane where there is only one writer
	groups chan *op   // operations of groups; the first lane where there is only one writer
	seed   maphash.Seed
}

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

// lane returns the queue for the calls of one agent, so that calls which would lock the same rows share a transaction.
func (q *queues) lane(who string) chan *op {
	return q.lanes[maphash.String(q.seed, who)%uint64(len(q.lanes))]
}

// An op is one operation waiting to be written.
type op struct {
	kind  kind
	item  any // what the kind runs
	bytes int // that it writes, in a group
	// run is what an operation does that is no item. It may be called again if the transaction has to be repeated, so it sets all its
	// results anew.
	run   func(context.Context, *Tx) error
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

// Update runs one operation inside the next transaction, and returns when that is durable, with the operation's own
// error if it had one. If ctx ends first the operation does not run at all; once it runs, Update waits for its end.
func (db *DB) Update(ctx context.Context, run func(context.Context, *Tx) error) error {
	return db.queued(ctx, db.queues.others, &op{kind: update, run: run})
}

// Aside is Update for operations that neither read nor change what calls change: the tables executions, ledger, accounts, counters and
// pools, and when agreements were used. So they need not wait until those tables have what the journal has, and take place where that
// cannot be written, as on a full disk: then, too, agents can be blocked and tokens revoked. A statement on such a table is an error.
func (db *DB) Aside(ctx context.Context, run func(context.Context, *Tx) error) error {
	return db.queued(ctx, db.queues.others, &op{kind: aside, run: run})
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
	db.life.closing.RLock()
	defer db.life.closing.RUnlock()
	if db.life.closed {
		return errClosed
	}
	select {
	case lane <- o:
		return nil
	default:
		return store.ErrQueueFull
	}
}
