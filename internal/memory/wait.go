package memory

import (
	"cmp"
	"context"
	"slices"
)

// A waiter is a share that waits for n bytes more.
type waiter struct {
	share  *Share
	n      int64
	served chan bool // receives one value: whether the bytes were taken
}

// A queue holds who waits, the longest first.
type queue []*waiter

func (s *Share) waited(ctx context.Context, n int64) bool {
	b := s.budget
	b.mu.Lock()
	if s.taken+n > b.size {
		b.mu.Unlock()
		return false
	}
	if len(b.waiting) == 0 && n <= b.free { // as a rule
		s.take(n)
		b.mu.Unlock()
		return true
	}
	w := &waiter{share: s, n: n, served: make(chan bool, 1)}
	b.waiting = append(b.waiting, w)
	b.serve()
	b.mu.Unlock()
	select {
	case served := <-w.served:
		return served
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case served := <-w.served: // meanwhile
		return served
	default:
		b.waiting = slices.DeleteFunc(b.waiting, func(other *waiter) bool { return other == w })
		b.serve()
		return false
	}
}

// serve gives what is free to those who wait. Who holds something already comes first, since others wait for that; who holds
// nothing waits until no holder does. Where even the end of everybody who does not wait would serve no holder, the holders wait for each
// other, and the one that holds most is refused. b.mu is held.
func (b *Budget) serve() {
	for {
		holders, others := b.waiting.split()
		switch {
		case b.serveFirst(holders):
		case len(holders) > 0 && holders.smallest() > b.size-holders.held():
			b.end(holders.largest(), false)
			return // what it holds comes back when it is closed
		case len(holders) == 0 && len(others) > 0 && b.serveFirst(others[:1]):
		default:
			return
		}
	}
}

// serveFirst serves the first for whom there is enough.
func (b *Budget) serveFirst(q queue) bool {
	for _, w := range q {
		if w.n <= b.free {
			w.share.take(w.n)
			b.end(w, true)
			return true
		}
	}
	return false
}

func (b *Budget) end(w *waiter, served bool) {
	b.waiting = slices.DeleteFunc(b.waiting, func(other *waiter) bool { return other == w })
	w.served <- served
}

func (q queue) split() (holders, others queue) {
	for _, w := range q {
		if w.share.taken > 0 {
			holders = append(holders, w)
		} else {
			others = append(others, w)
		}
	}
	return holders, others
}

func (q queue) held() int64 {
	sum := int64(0)
	for _, w := range q {
		sum += w.share.taken
	}
	return sum
}

func (q queue) smallest() int64 {
	return slices.MinFunc(q, func(a, b *waiter) int { return cmp.Compare(a.n, b.n) }).n
}

func (q queue) largest() *waiter {
	return slices.MaxFunc(q, func(a, b *waiter) int { return cmp.Compare(a.share.taken, b.share.taken) })
}
