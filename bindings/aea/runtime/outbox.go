package runtime

import (
	"context"
	"errors"
	"sync"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// ErrFull means that too many envelopes wait already.
var ErrFull = errors.New("as much waits as may")

// A MailBox is what connections put envelopes in, and take them out of.
type MailBox struct {
	InBox  *InBox
	OutBox *OutBox
}

// An OutBox holds the envelopes that wait to be sent, in one Queue for each peer: one that reads nothing fills its own. A queue
// may hold more as long as it holds less than is free, so that many such peers leave room for others. Envelopes that are relayed
// have bounds of their own, so that they take no room from those of this agent.
type OutBox struct {
	address       string
	perPeer, size int64

	mu       sync.Mutex
	emptied  sync.Cond
	held     int64            // by all
	relayed  int64            // by those that are relayed
	bySender map[string]int64 // of those
}

func newOutBox(address string, l Limits) *OutBox {
	b := &OutBox{
		address: address, perPeer: max(l.PerPeer, wire.MaxEnvelope), size: max(l.OutBox, 2*wire.MaxEnvelope), bySender: map[string]int64{},
	}
	b.emptied.L = &b.mu
	return b
}

// relays reports whether an envelope is another agent's.
func (b *OutBox) relays(e wire.Envelope) bool { return !e.ToComponent() && e.Sender != b.address }

// take takes room for an envelope into a queue that holds some of its kind already.
func (b *OutBox) take(e wire.Envelope, held int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := weight(e, minSent)
	free := b.size - b.held
	if b.relays(e) {
		if free = min(free, b.size/2-b.relayed); b.bySender[e.Sender]+n > b.perPeer {
			return false
		}
	}
	if held+n > b.perPeer || held+n > free {
		return false
	}
	b.add(e, n)
	return true
}

func (b *OutBox) give(e wire.Envelope) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.add(e, -weight(e, minSent)); b.held == 0 {
		b.emptied.Broadcast()
	}
}

func (b *OutBox) add(e wire.Envelope, n int64) {
	b.held += n
	if !b.relays(e) {
		return
	}
	b.relayed += n
	if b.bySender[e.Sender] += n; b.bySender[e.Sender] == 0 {
		delete(b.bySender, e.Sender)
	}
}

// drain waits until nothing waits to be sent, or ctx ends.
func (b *OutBox) drain(ctx context.Context) {
	defer context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.emptied.Broadcast()
	})()
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.held > 0 && ctx.Err() == nil {
		b.emptied.Wait()
	}
}

// A Queue holds the envelopes that wait to be sent to one peer. It is safe for concurrent use.
type Queue struct {
	box     *OutBox
	mu      sync.Mutex
	held    int64 // by those that wait, and by the one that was taken, of this agent
	relayed int64 // by those of others
	list    []wire.Envelope
	more    chan struct{} // has an element when there may be more
	shut    bool
	// back: the first of the list was taken before, and again: so was the one that was taken last.
	back, again bool
}

// Queue makes a queue for a peer. It is closed with Close.
func (b *OutBox) Queue() *Queue { return &Queue{box: b, more: make(chan struct{}, 1)} }

// Put puts an envelope behind the others. The error is ErrFull, or ErrNoPeer after Close.
func (q *Queue) Put(e wire.Envelope) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	held := q.of(e)
	switch {
	case q.shut:
		return ErrNoPeer
	case !q.box.take(e, *held):
		return ErrFull
	}
	*held += weight(e, minSent)
	q.list = append(q.list, e)
	q.wake()
	return nil
}

// of is what those of the kind of an envelope hold.
func (q *Queue) of(e wire.Envelope) *int64 {
	if q.box.relays(e) {
		return &q.relayed
	}
	return &q.held
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
			return e, func() { q.free(e) }, nil
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
	return e, func() { q.free(e) }, true
}

func (q *Queue) first() (e wire.Envelope, found bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.shut:
		q.wake()
		return e, false, ErrNoPeer
	case len(q.list) == 0:
		return e, false, nil
	}
	e, q.list[0] = q.list[0], wire.Envelope{}
	q.back, q.again = false, q.back
	if q.list = q.list[1:]; len(q.list) > 0 {
		q.wake() // another one that takes
	}
	return e, true, nil
}

// Back puts the envelope that was taken last in front of the others again, because it may not have arrived; then sent is not called.
// That is done once: it reports false, and the envelope is dropped, when it was put back before, and after Close. Only where one
// goroutine takes.
func (q *Queue) Back(e wire.Envelope) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.again || q.shut {
		q.give(e)
		return false
	}
	q.list, q.back = append([]wire.Envelope{e}, q.list...), true
	q.wake()
	return true
}

func (q *Queue) free(e wire.Envelope) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.give(e)
}

func (q *Queue) give(e wire.Envelope) {
	*q.of(e) -= weight(e, minSent)
	q.box.give(e)
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
		q.give(e)
	}
	q.list, q.shut = nil, true
	q.wake()
	return n
}
