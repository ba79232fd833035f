// Package fairqueue shares a limited number of places among parties. A single party cannot hold all places, and waiting parties are served
// in turn.
//
//	places := fairqueue.New(fairqueue.Bounds{Places: 1024, Waiting: 1024, Wait: 2 * time.Second})
//	leave, err := places.Take(ctx, fairqueue.Party{Name: agent, Unapproved: true}) // ErrFull
//	defer leave()
package fairqueue

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrFull means that no place became free in time, or that too many calls are waiting.
var ErrFull = errors.New("too many calls are in progress or waiting")

// Bounds are the limits of Places. All fields are required.
type Bounds struct {
	Places  int           // the number of places
	Waiting int           // how many calls may wait at the same time
	Wait    time.Duration // how long one call may wait
}

// A Party holds places, or waits for them.
type Party struct {
	Name string
	// Unapproved marks parties that together hold at most three quarters of the places and of the queue. If the queue is full, the newest
	// waits of unapproved parties are ended to make room for other parties.
	Unapproved bool
}

// Places are shared between parties. A party may take another place while it holds fewer places than are free, so that one place is always
// left for the next party. A single party gets half of the places, each of two parties a third, and so on. The same rule applies to the
// queue. Places is safe for concurrent use.
type Places struct {
	b Bounds

	mu            sync.Mutex
	held, waiting count
	parties       map[Party]*party // the parties that hold a place or wait
	spare         []*party         // entries for reuse; at most as many as were in use at the same time
	line          list.List        // of *party: the parties that wait, the next to be served first
}

// A count is a number of places or of waiting calls: of all parties together, and of the unapproved ones.
type count struct{ all, unapproved int }

func (c *count) add(p *party, n int) {
	c.all += n
	if p.Unapproved {
		c.unapproved += n
	}
}

// fits reports whether a party that already has some places (or waiting calls) may have one more. total is the number that all parties may
// have.
func (c *count) fits(total int, p *party, has int) bool {
	return has < total-c.all && (!p.Unapproved || c.unapproved < total-total/4)
}

type party struct {
	Party

	leave  func() // releases one of its places
	held   int
	queue  []*waiter     // oldest first
	inLine *list.Element // nil if no call of the party waits
}

func partyAt(at *list.Element) *party {
	p, _ := at.Value.(*party)
	return p
}

// A waiter waits until ended is closed. It then has a place or, if shed is set, was refused.
type waiter struct {
	ended chan struct{}
	shed  bool
}

// New returns Places that are all free.
func New(b Bounds) *Places { return &Places{b: b, parties: map[Party]*party{}} }

// Take takes a place for a party; if none is free for the party, Take waits for one. The caller must call leave once to release the place.
// The error is ErrFull or the error of ctx; leave is then nil.
func (s *Places) Take(ctx context.Context, of Party) (leave func(), err error) {
	s.mu.Lock()
	p := s.parties[of]
	if p == nil {
		p = s.newParty(of)
	}
	if s.held.fits(s.b.Places, p, p.held) && len(p.queue) == 0 {
		s.hold(p)
		s.mu.Unlock()
		return p.leave, nil
	}
	w, ok := s.join(p)
	s.forget(p)
	s.mu.Unlock()
	if !ok {
		return nil, ErrFull
	}
	if err := s.await(ctx, p, w); err != nil {
		return nil, err
	}
	return p.leave, nil
}

// newParty adds a party that neither holds a place nor waits yet.
func (s *Places) newParty(of Party) *party {
	var p *party
	if last := len(s.spare) - 1; last >= 0 {
		p, s.spare = s.spare[last], s.spare[:last]
	} else {
		p = &party{}
		p.leave = func() { s.leave(p) }
	}
	p.Party = of
	s.parties[of] = p
	return p
}

// Counts returns how many places are held, and how many calls wait for one.
func (s *Places) Counts() (held, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held.all, s.waiting.all
}

func (s *Places) hold(p *party) {
	p.held++
	s.held.add(p, 1)
}

func (s *Places) leave(p *party) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.held--
	s.held.add(p, -1)
	s.forget(p)
	s.serve()
}

// serve gives free places to the waiting parties in turn, one place at a time.
func (s *Places) serve() {
	for at := s.line.Front(); at != nil; {
		p, next := partyAt(at), at.Next()
		if !s.held.fits(s.b.Places, p, p.held) {
			at = next
			continue
		}
		w := p.queue[0]
		s.line.MoveToBack(p.inLine)
		s.remove(p, w)
		s.hold(p)
		close(w.ended)
		at = s.line.Front()
	}
}

// join adds a call of a party to the queue, if there is space for it. For approved parties, waits of unapproved parties count as free
// space.
func (s *Places) join(p *party) (*waiter, bool) {
	if !s.waiting.fits(s.b.Waiting, p, len(p.queue)) {
		room := s.b.Waiting - s.waiting.all + s.waiting.unapproved
		if p.Unapproved || len(p.queue) >= room {
			return nil, false
		}
		if s.waiting.all == s.b.Waiting {
			s.shedUnapproved()
		}
	}
	w := &waiter{ended: make(chan struct{})}
	p.queue = append(p.queue, w)
	s.waiting.add(p, 1)
	if p.inLine == nil {
		p.inLine = s.line.PushBack(p)
	}
	return w, true
}

// shedUnapproved ends the newest wait of the unapproved party that has the most waits.
func (s *Places) shedUnapproved() {
	var most *party
	for at := s.line.Front(); at != nil; at = at.Next() {
		if p := partyAt(at); p.Unapproved && (most == nil || len(p.queue) > len(most.queue)) {
			most = p
		}
	}
	w := most.queue[len(most.queue)-1]
	w.shed = true
	s.remove(most, w)
	s.forget(most)
	close(w.ended)
}

// await waits until the wait of w ends. If it returns an error, no place is held.
func (s *Places) await(ctx context.Context, p *party, w *waiter) error {
	timer := time.NewTimer(s.b.Wait)
	defer timer.Stop()
	err := ErrFull
	select {
	case <-w.ended:
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.ended: // w may have got a place in the meantime
		if !w.shed {
			return nil
		}
		return ErrFull
	default:
	}
	s.remove(p, w)
	s.forget(p)
	return err
}

// remove removes a waiting call from the queue.
func (s *Places) remove(p *party, w *waiter) {
	p.queue = slices.DeleteFunc(p.queue, func(other *waiter) bool { return other == w })
	s.waiting.add(p, -1)
	if len(p.queue) == 0 {
		s.line.Remove(p.inLine)
		p.inLine = nil
	}
}

// forget removes a party that neither holds a place nor waits.
func (s *Places) forget(p *party) {
	if p.held == 0 && len(p.queue) == 0 {
		delete(s.parties, p.Party)
		p.Party = Party{}
		s.spare = append(s.spare, p)
	}
}
