package runtime

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/uimgate/uimgate/bindings/aea/wire"
)

// ErrFull says that so much waits already that no more is taken.
var ErrFull = errors.New("as much waits as may")

// A MailBox is what connections put envelopes in, and take them out of.
type MailBox struct {
	InBox  *InBox
	OutBox *OutBox
}

// An OutBox holds the envelopes that wait to be sent, in one Queue for each peer: one that reads nothing fills its own.
type OutBox struct {
	perPeer int64
	size    int64
	room    *semaphore.Weighted
}

func newOutBox(l Limits) *OutBox {
	size := max(l.OutBox, wire.MaxEnvelope)
	return &OutBox{perPeer: max(l.PerPeer, wire.MaxEnvelope), size: size, room: semaphore.NewWeighted(size)}
}

// drain waits until nothing waits to be sent, or ctx ends.
func (b *OutBox) drain(ctx context.Context) {
	if b.room.Acquire(ctx, b.size) == nil {
		b.room.Release(b.size)
	}
}

// A Queue holds the envelopes that wait to be sent to one peer. One goroutine takes, any may put.
type Queue struct {
	box  *OutBox
	mu   sync.Mutex
	held int64 // by those that wait, and by the one that was taken
	list []wire.Envelope
	more chan struct{} // has an element when there may be more
	shut bool
}

// Queue makes a queue for a peer. It is closed with Close.
func (b *OutBox) Queue() *Queue { return &Queue{box: b, more: make(chan struct{}, 1)} }

// Put puts an envelope behind the others. The error is ErrFull, or ErrNoPeer after Close.
func (q *Queue) Put(e wire.Envelope) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := weight(e)
	switch {
	case q.shut:
		return ErrNoPeer
	case q.held+n > q.box.perPeer || !q.box.room.TryAcquire(n):
		return ErrFull
	}
	q.held += n
	q.list = append(q.list, e)
	q.wake()
	return nil
}

func (q *Queue) wake() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// Take returns the next envelope, and waits for one. It counts as waiting until sent is called. The error is that of ctx, or
// ErrNoPeer after Close.
func (q *Queue) Take(ctx context.Context) (e wire.Envelope, sent func(), err error) {
	for {
		e, found, err := q.first()
		if err != nil {
			return wire.Envelope{}, nil, err
		}
		if found {
			return e, func() { q.free(weight(e)) }, nil
		}
		select {
		case <-q.more:
		case <-ctx.Done():
			return wire.Envelope{}, nil, ctx.Err()
		}
	}
}

// First returns the next envelope where there is one, and does not wait. Otherwise it is like Take.
func (q *Queue) First() (e wire.Envelope, sent func(), ok bool) {
	e, ok, err := q.first()
	if err != nil || !ok {
		return wire.Envelope{}, nil, false
	}
	return e, func() { q.free(weight(e)) }, true
}

func (q *Queue) first() (e wire.Envelope, found bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.shut:
		return e, false, ErrNoPeer
	case len(q.list) == 0:
		return e, false, nil
	}
	e, q.list[0] = q.list[0], wire.Envelope{}
	q.list = q.list[1:]
	return e, true, nil
}

func (q *Queue) free(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held -= n
	q.box.room.Release(n)
}

// Len returns how many envelopes wait.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list)
}

// Close drops what waits, and returns how many envelopes that were.
func (q *Queue) Close() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.list)
	for _, e := range q.list {
		q.held -= weight(e)
		q.box.room.Release(weight(e))
	}
	q.list, q.shut = nil, true
	q.wake()
	return n
}
