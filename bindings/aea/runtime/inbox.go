package runtime

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// ErrStopped means that the runtime no longer accepts or sends envelopes.
var ErrStopped = errors.New("the runtime has stopped")

// An InBox holds envelopes until a worker takes them. If there is no space, put blocks, which slows the peer down. Envelopes of one
// dialogue are processed one after the other, in order; envelopes of other dialogues may overtake them. Senders are served in turn. If
// there are at least two workers, no sender or protocol can occupy all of them: it gets another worker only while it occupies fewer
// workers than are free.
type InBox struct {
	workers   int
	perSender int64
	room      *semaphore.Weighted

	mu      sync.Mutex
	changed sync.Cond
	senders map[string]*sender
	waiting list.List // of *sender with waiting envelopes, the next one first
	working map[wire.PublicID]int
	counts  InBoxStatus
	shut    bool
}

// An InBoxStatus counts envelopes, for monitoring.
type InBoxStatus struct {
	Waiting int    `json:"waiting"` // envelopes that wait now
	Working int    `json:"working"` // envelopes that handlers are processing now
	Taken   uint64 `json:"taken"`
	Held    uint64 `json:"held"`    // envelopes that had to wait for space and blocked their connection
	Dropped uint64 `json:"dropped"` // envelopes dropped when the runtime stopped, or because a skill sent too many to another skill
}

// A sender is an agent with envelopes that wait, are being processed, or wait for space.
type sender struct {
	room    *semaphore.Weighted
	holders int // the number of these envelopes
	waiting []waitingEnvelope
	busy    map[string]bool // the dialogues that are being processed
	working int
	turn    *list.Element
}

type waitingEnvelope struct {
	envelope Envelope
	dialogue string // the reference that the initiator chose; empty if it is unreadable
}

func newInBox(l Limits) *InBox {
	b := &InBox{
		workers: l.Workers, perSender: max(l.PerSender, wire.MaxEnvelope), room: semaphore.NewWeighted(max(l.InBox, wire.MaxEnvelope)),
		senders: map[string]*sender{}, working: map[wire.PublicID]int{},
	}
	b.changed.L = &b.mu
	return b
}

// Status returns the counts.
func (b *InBox) Status() InBoxStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts
}

// put adds an envelope, and waits until there is space. It returns the error of ctx, or ErrStopped.
func (b *InBox) put(ctx context.Context, e Envelope) error {
	s := b.hold(e.Sender)
	if err := b.enter(ctx, s, weight(e.Envelope, minReceived)); err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.letGo(e.Sender, s)
		return err
	}
	return b.append(s, e)
}

// offer is like put, but returns ErrFull instead of waiting: a handler that waited for space could wait for itself.
func (b *InBox) offer(e Envelope) error {
	s := b.hold(e.Sender)
	if !b.tryEnter(s, weight(e.Envelope, minReceived)) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.counts.Dropped++
		b.letGo(e.Sender, s)
		return ErrFull
	}
	return b.append(s, e)
}

// append adds an envelope for which there is space.
func (b *InBox) append(s *sender, e Envelope) error {
	w := waitingEnvelope{envelope: e}
	if m, err := wire.DecodeMessage(e.Message); err == nil {
		w.dialogue = m.StarterRef
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shut {
		b.counts.Dropped++
		b.leave(s, e)
		return ErrStopped
	}
	s.waiting = append(s.waiting, w)
	b.counts.Waiting++
	if s.turn == nil {
		s.turn = b.waiting.PushBack(s)
	}
	b.changed.Signal()
	return nil
}

// hold returns the state of a sender. The InBox keeps this state until letGo is called.
func (b *InBox) hold(address string) *sender {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.senders[address]
	if s == nil {
		s = &sender{room: semaphore.NewWeighted(b.perSender), busy: map[string]bool{}}
		b.senders[address] = s
	}
	s.holders++
	return s
}

func (b *InBox) letGo(address string, s *sender) {
	if s.holders--; s.holders == 0 {
		delete(b.senders, address)
	}
}

// enter reserves the space for an envelope. It reserves the sender's share first, so that a sender that sends too much delays only
// itself.
func (b *InBox) enter(ctx context.Context, s *sender, n int64) error {
	if b.tryEnter(s, n) {
		return nil
	}
	b.mu.Lock()
	b.counts.Held++
	b.mu.Unlock()
	if err := s.room.Acquire(ctx, n); err != nil {
		return err
	}
	if err := b.room.Acquire(ctx, n); err != nil {
		s.room.Release(n)
		return err
	}
	return nil
}

// tryEnter reserves the space for an envelope if there is enough.
func (b *InBox) tryEnter(s *sender, n int64) bool {
	if !s.room.TryAcquire(n) {
		return false
	}
	if !b.room.TryAcquire(n) {
		s.room.Release(n)
		return false
	}
	return true
}

// leave releases the memory that enter and hold took. The caller must hold the lock.
func (b *InBox) leave(s *sender, e Envelope) {
	n := weight(e.Envelope, minReceived)
	s.room.Release(n)
	b.room.Release(n)
	b.letGo(e.Sender, s)
}

// take returns the next envelope, and waits for one if necessary. The caller must call done when the envelope has been processed. ok is
// false once the box is stopped and empty.
func (b *InBox) take() (e Envelope, done func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.shut || b.counts.Waiting > 0 {
		if s, at := b.next(); s != nil {
			b.changed.Signal() // there may be more
			w := s.waiting[at]
			b.begin(s, at)
			return w.envelope, func() { b.finish(s, w) }, true
		}
		b.changed.Wait()
	}
	return Envelope{}, nil, false
}

// next returns the next envelope that may be processed, as its sender and its index in sender.waiting. The sender is nil if there is no
// such envelope.
func (b *InBox) next() (*sender, int) {
	free := b.workers - b.counts.Working
	for turn := b.waiting.Front(); turn != nil; turn = turn.Next() {
		s, _ := turn.Value.(*sender)
		if s.working >= free {
			continue
		}
		for at, w := range s.waiting {
			if !s.busy[w.dialogue] && b.working[w.envelope.Protocol] < free {
				return s, at
			}
		}
	}
	return nil, 0
}

func (b *InBox) begin(s *sender, at int) {
	w := s.waiting[at]
	s.waiting = slices.Delete(s.waiting, at, at+1)
	s.busy[w.dialogue] = true
	s.working++
	b.working[w.envelope.Protocol]++
	b.counts.Waiting--
	b.counts.Working++
	b.counts.Taken++
	if len(s.waiting) > 0 {
		b.waiting.MoveToBack(s.turn)
	} else {
		b.waiting.Remove(s.turn)
		s.turn = nil
	}
}

func (b *InBox) finish(s *sender, w waitingEnvelope) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(s.busy, w.dialogue)
	s.working--
	if b.working[w.envelope.Protocol]--; b.working[w.envelope.Protocol] == 0 {
		delete(b.working, w.envelope.Protocol)
	}
	b.counts.Working--
	b.leave(s, w.envelope)
	if b.shut && b.counts.Waiting == 0 {
		b.changed.Broadcast() // no more envelopes will arrive
	} else {
		b.changed.Signal()
	}
}

// stop makes the box reject new envelopes.
func (b *InBox) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut = true
	b.changed.Broadcast()
}

// stopped reports whether stop was called.
func (b *InBox) stopped() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shut
}

// drop discards the waiting envelopes.
func (b *InBox) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for turn := b.waiting.Front(); turn != nil; turn = b.waiting.Front() {
		s, _ := turn.Value.(*sender)
		for _, w := range s.waiting {
			b.counts.Dropped++
			b.leave(s, w.envelope)
		}
		b.counts.Waiting -= len(s.waiting)
		b.waiting.Remove(turn)
		s.waiting, s.turn = nil, nil
	}
	b.changed.Broadcast()
}
