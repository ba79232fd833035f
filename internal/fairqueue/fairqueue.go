// Package fairqueue shares a bounded number of places between parties, so that none of them holds all, and those that have to
// wait are served in turn.
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

// ErrFull means that no place came free in time, or that as many wait as may.
var ErrFull = errors.New("as many calls are under way as may be, and as many wait")

// Bounds are how many may hold a place and wait for one. All members are required.
type Bounds struct {
	Places  int           // held at once
	Waiting int           // at once
	Wait    time.Duration // for one place
}

// A Party is who takes places.
type Party struct {
	Name string
	// Unapproved marks parties that together hold at most three quarters of the places and of the line. If the line is full, their
	// newest waits end to make room for others.
	Unapproved bool
}

// Places are shared between parties. A party may take a place while it holds fewer than are free: alone it gets half of
// them, with another one a third, and so on, and one is always left for the next. The line of those who wait is shared by
// the same rule. It is safe for concurrent use.
type Places struct {
	b Bounds

	mu            sync.Mutex
	held, waiting count
	parties       map[Party]*party // that hold a place or wait
	spare         []*party         // that did, for others; no more than there were at once
	line          list.List        // of *party that wait, the next first
}

// A count is of all parties, and of strangers among them.
type count struct{ all, unapproved int }

func (c *count) add(p *party, n int) {
	c.all += n
	if p.Unapproved {
		c.unapproved += n
	}
}

// fits reports whether a party that has so many of most may have one more.
func (c *count) fits(most int, p *party, has int) bool {
	return has < most-c.all && (!p.Unapproved || c.unapproved < most-most/4)
}

type party struct {
	Party

	leave  func() // gives back one of its places
	held   int
	queue  []*waiter     // the oldest first
	inLine *list.Element // nil where nothing waits
}

func partyAt(at *list.Element) *party {
	p, _ := at.Value.(*party)
	return p
}

// A waiter waits until ended is closed; then it has a place, or was shed.
type waiter struct {
	ended chan struct{}
	shed  bool
}

// New makes Places that are all free.
func New(b Bounds) *Places { return &Places{b: b, parties: map[Party]*party{}} }

// Take takes a place, and waits for one where there is none for the party. leave gives it back, and is called once. The
// error is ErrFull, or that of ctx; then leave is nil.
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

// newParty makes known a party that is not.
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

// serve gives places to who waits, one for each party in turn, as long as there are any for it.
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

// join puts one more call of a party into the line, if there is room for it. Strangers count as room for others.
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

// shedUnapproved ends the newest wait of the stranger that waits most often.
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

// await waits for the end of a wait. Where it ends without a place nothing is held.
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
	case <-w.ended: // perhaps in this moment
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

// remove takes a call out of the line.
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
