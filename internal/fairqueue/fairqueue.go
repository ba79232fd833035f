// Package fairqueue shares a bounded number of places between parties, so that none of them holds all, and waiting parties are served in
// turn.
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

// ErrFull means that no place became free in time, or that too many calls wait.
var ErrFull = errors.New("as many calls are under way as may be, and as many wait")

// Bounds are how many may hold a place and wait for one. All fields are required.
type Bounds struct {
	Places  int           // held at once
	Waiting int           // at once
	Wait    time.Duration // for one place
}

// A Party is the holder of places.
type Party struct {
	Name string
	// Unapproved marks parties that together hold at most three quarters of the places and of the queue. If the queue is full, their
	// newest waits end in favour of others.
	Unapproved bool
}

// Places are shared between parties. A party may take a place while it holds fewer than are free: alone it gets half of them, with
// another one a third, and so on, and one is always left for the next. The same rule applies to the queue. It is safe for concurrent use.
type Places struct {
	b Bounds

	mu            sync.Mutex
	held, waiting count
	parties       map[Party]*party // that hold a place or wait
	spare         []*party         // unused entries for reuse; at most as many as there were concurrently
	line          list.List        // of *party that wait, the next first
}

// A count has the numbers of all parties, and of unapproved ones.
type count struct{ all, unapproved int }

func (c *count) add(p *party, n int) {
	c.all += n
	if p.Unapproved {
		c.unapproved += n
	}
}

// fits reports whether a party that has n of most may have one more.
func (c *count) fits(most int, p *party, has int) bool {
	return has < most-c.all && (!p.Unapproved || c.unapproved < most-most/4)
}

type party struct {
	Party

	leave  func() // releases one of its places
	held   int
	queue  []*waiter     // the oldest first
	inLine *list.Element // nil if none waits
}

func partyAt(at *list.Element) *party {
	p, _ := at.Value.(*party)
	return p
}

// A waiter waits until ended is closed; then it has a place, or was refused.
type waiter struct {
	ended chan struct{}
	shed  bool
}

// New makes Places that are all free.
func New(b Bounds) *Places { return &Places{b: b, parties: map[Party]*party{}} }

// Take takes a place, and waits for one if none is free for the party. leave releases it, and must be called once. The error is ErrFull,
// or that of ctx; leave is then nil.
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

// newParty adds an unknown party.
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

// Counts returns how many places are held, and how many wait for one.
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

// serve gives places to waiting parties in turn, one for each, as long as there are any.
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

// join adds one more call of a party to the queue, if there is space for it. Waits of unapproved parties count as space for others.
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

// shedUnapproved ends the newest wait of the unapproved party with the most waits.
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

// await waits for the end of a wait. If it ends without a place, nothing is held.
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
	case <-w.ended: // it may get a place at this moment
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

// remove removes a call from the queue.
func (s *Places) remove(p *party, w *waiter) {
	p.queue = slices.DeleteFunc(p.queue, func(other *waiter) bool { return other == w })
	s.waiting.add(p, -1)
	if len(p.queue) == 0 {
		s.line.Remove(p.inLine)
		p.inLine = nil
	}
}

// forget drops a party that neither holds a place nor waits.
func (s *Places) forget(p *party) {
	if p.held == 0 && len(p.queue) == 0 {
		delete(s.parties, p.Party)
		p.Party = Party{}
		s.spare = append(s.spare, p)
	}
}
