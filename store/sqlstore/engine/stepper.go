package engine

import (
	"context"
	"errors"
)

// A Stepper runs the transactions of a database one by one, in place of the writers, so that a test can choose which operations share a
// transaction.
type Stepper struct{ w *Writer }

// Step opens the queues of a database without starting writers, and returns the Stepper that takes their place.
func (db *DB) Step() *Stepper {
	lane := make(chan *op, batchSize)
	db.queues.open(db.dialect, 0)
	db.queues.lanes, db.queues.others, db.queues.groups = []chan *op{lane}, lane, lane
	return &Stepper{&Writer{db: db, lane: lane}}
}

// Together runs functions, each in a goroutine. Their first operations share a transaction; each later operation runs alone.
func (s *Stepper) Together(ctx context.Context, calls ...func()) {
	var first []*op
	ended := make([]chan struct{}, len(calls))
	for i, call := range calls {
		ended[i] = make(chan struct{})
		go func() {
			defer close(ended[i])
			call()
		}()
		select {
		case o := <-s.w.lane:
			first = append(first, o)
		case <-ended[i]:
		}
	}
	if len(first) > 0 {
		_ = s.w.commit(ctx, first)
	}
	for _, end := range ended {
		for open := true; open; {
			select {
			case o := <-s.w.lane:
				_ = s.w.commit(ctx, []*op{o})
			case <-end:
				open = false
			}
		}
	}
}

// Drain runs the queued operations, each in a separate transaction.
func (s *Stepper) Drain(ctx context.Context) {
	for len(s.w.lane) > 0 {
		_ = s.w.commit(ctx, []*op{<-s.w.lane})
	}
}

// CatchUp writes all pending changes into the tables.
func (s *Stepper) CatchUp(ctx context.Context) { s.w.catchUp(ctx) }

// Kill closes the connections abruptly, as if the process had ended.
func (s *Stepper) Kill() error {
	s.w.drop()
	s.w.db.links.release()
	return errors.Join(s.w.db.read.Close(), s.w.db.write.Close())
}

// Queued returns how many operations wait in the queues of calls, of other operations and of groups. If two of these share a queue, both
// numbers count its operations.
func (db *DB) Queued() (calls, others, groups int) {
	for _, lane := range db.queues.lanes {
		calls += len(lane)
	}
	return calls, len(db.queues.others), len(db.queues.groups)
}
