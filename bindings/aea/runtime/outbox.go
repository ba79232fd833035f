package runtime

import (
	"context"
	"errors"
	"sync"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// ErrFull means that too many envelopes or tasks are already queued.
var ErrFull = errors.New("the queue is full")

// A MailBox holds the envelopes that connections have received, and those that connections must send.
type MailBox struct {
	InBox  *InBox
	OutBox *OutBox
}

// An OutBox holds the queued envelopes. Each peer has its own Queue, so that a peer that does not read fills only its own queue. A queue
// can grow only while it holds less than is free, so that many such peers leave space for others. Relayed envelopes have separate limits,
// so that they leave space for the envelopes of this agent.
type OutBox struct {
	address       string
	perPeer, size int64

	mu       sync.Mutex
	emptied  sync.Cond
	held     int64            // bytes of all envelopes
	relayed  int64            // bytes of relayed envelopes
	bySender map[string]int64 // bytes of relayed envelopes
}

func newOutBox(address string, l Limits) *OutBox {
	b := &OutBox{
		address: address, perPeer: max(l.PerPeer, wire.MaxEnvelope), size: max(l.OutBox, 2*wire.MaxEnvelope), bySender: map[string]int64{},
	}
	b.emptied.L = &b.mu
	return b
}

// relays reports whether an envelope was sent by another agent and is relayed.
func (b *OutBox) relays(e wire.Envelope) bool { return !e.ToComponent() && e.Sender != b.address }

// take reserves space for an envelope, and reports whether there was enough. held is the space that envelopes of the same kind, own or
// relayed, already take in the queue.
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

// drain waits until the OutBox is empty, or ctx ends.
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

// A Queue holds the envelopes queued for one peer. It is safe for concurrent use.
type Queue struct {
	box     *OutBox
	mu      sync.Mutex
	held    int64 // bytes of this agent's envelopes, both queued and taken
	relayed int64 // bytes of relayed envelopes, both queued and taken
	list    []wire.Envelope
	more    chan struct{} // has a value when there may be an envelope
	shut    bool
	// back means that Back has put back the first envelope of list. again means that the envelope taken last was put back before.
	back, again bool
}

// Queue returns a new queue for a peer. The caller must close it with Close.
func (b *OutBox) Queue() *Queue { return &Queue{box: b, more: make(chan struct{}, 1)} }

// Put appends an envelope. It returns ErrFull, or ErrNoPeer after Close.
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

// of returns the counter for envelopes of this kind, own or relayed.
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

// Take returns the next envelope, and waits for one if necessary. The envelope takes space until sent is called. The error is that of
// ctx, or ErrNoPeer after Close.
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

// First is like Take, but does not wait. ok is false if there is no envelope, or after Close.
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
		q.wake() // for another goroutine in Take
	}
	return e, true, nil
}

// Back puts the envelope that was taken last back at the front of the queue, because it may not have arrived. The caller must then not call
// sent. An envelope can be put back only once. If it was put back before, or if the queue is closed, Back drops it and returns false. Back
// may be used only if a single goroutine takes envelopes.
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

// open reports whether Close has not been called.
func (q *Queue) open() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.shut
}

// Len returns the number of queued envelopes.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list)
}

// Close drops the queued envelopes and returns their number.
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
