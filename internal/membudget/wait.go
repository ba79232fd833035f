package membudget

import (
	"cmp"
	"context"
	"slices"
)

// A waiter is a share that waits for n more bytes.
type waiter struct {
	share  *Share
	n      int64
	served chan bool // receives one value: whether the bytes were taken
}

// A queue is a list of waiting shares, longest waiting first.
type queue []*waiter

// holds reports whether a share of a level, or of a higher one, is waiting.
func (q queue) holds(of level) bool {
	return slices.ContainsFunc(q, func(w *waiter) bool { return w.share.level >= of })
}

func (s *Share) waited(ctx context.Context, n int64) bool {
	b := s.budget
	b.mu.Lock()
	if s.taken+n > b.most(s.level) {
		b.mu.Unlock()
		return false
	}
	if !b.waiting.holds(s.level) && s.fits(n) { // the usual case
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
	case served := <-w.served: // serve has decided in the meantime
		return served
	default:
		b.waiting = slices.DeleteFunc(b.waiting, func(other *waiter) bool { return other == w })
		b.serve()
		return false
	}
}

// serve gives free memory to waiting shares, higher levels first. Shares that already hold memory come first, because others wait for that
// memory. A share that holds none is not served while a holder of the same or a higher level waits. If no holder could be served even after
// all shares that are not waiting have ended, the holders wait for each other, and one of them is refused. The caller holds b.mu.
func (b *Budget) serve() {
	for {
		holders, others := b.waiting.split()
		switch {
		case b.serveFirst(holders):
		case len(holders) > 0 && !b.servable(holders):
			b.end(holders.worst(), false)
			return // the refused share releases its memory when it is closed
		case len(others) > 0 && !holders.holds(others[0].share.level) && b.serveFirst(others[:1]):
		default:
			return
		}
	}
}

// serveFirst serves the first share for which enough memory is free, and reports whether there is one.
func (b *Budget) serveFirst(q queue) bool {
	for _, w := range q {
		if w.share.fits(w.n) {
			w.share.take(w.n)
			b.end(w, true)
			return true
		}
	}
	return false
}

// servable reports whether one of the holders can be served once all shares that are not waiting have ended.
func (b *Budget) servable(holders queue) bool {
	var held [levels]int64
	for _, w := range holders {
		for of := w.share.level; of < levels; of++ {
			held[of] += w.share.taken
		}
	}
	return slices.ContainsFunc(holders, func(w *waiter) bool {
		for of := w.share.level; of < levels; of++ {
			if w.n > b.most(of)-held[of] {
				return false
			}
		}
		return true
	})
}

func (b *Budget) end(w *waiter, served bool) {
	b.waiting = slices.DeleteFunc(b.waiting, func(other *waiter) bool { return other == w })
	w.served <- served
}

// split separates the waiting shares that hold memory from the others. In both lists, higher levels come first and, within a level, the
// share that has waited longest.
func (q queue) split() (holders, others queue) {
	for _, w := range q {
		if w.share.taken > 0 {
			holders = append(holders, w)
		} else {
			others = append(others, w)
		}
	}
	for _, part := range []queue{holders, others} {
		slices.SortStableFunc(part, func(a, b *waiter) int { return cmp.Compare(b.share.level, a.share.level) })
	}
	return holders, others
}

// worst returns, of the shares of the lowest level, the one that holds the most memory.
func (q queue) worst() *waiter {
	return slices.MinFunc(q, func(a, b *waiter) int {
		return cmp.Or(cmp.Compare(a.share.level, b.share.level), cmp.Compare(b.share.taken, a.share.taken))
	})
}
