package execute

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/uimgate/uimgate/store"
)

// An end is the outcome of a call that could not be stored when the call ended.
type end struct {
	admission  store.Admission
	settlement store.Settlement
	deadline   time.Time // of the record; from then on it is unresolved
	answered   bool      // there is a response to store
}

// A LateEnd is the outcome of an end that could not be stored when its call ended.
type LateEnd struct {
	Stored     bool // stored later; otherwise the record becomes unresolved
	AnswerLost bool // and is not returned again under its idempotency key
}

// size returns the bytes of an end that count towards maxLateAnswers.
func (n *end) size() int {
	if n.settlement.Answer == nil {
		return 0
	}
	return n.settlement.Answer.Size()
}

const (
	maxLate        = 16 << 10 // ends that wait; further ones are swept to unresolved
	maxLateAnswers = 64 << 20 // bytes of waiting responses; beyond it an end is kept without its response
	lateAtOnce     = 64
	// The pause between two attempts starts with leastLatePause and doubles up to mostLatePause.
	leastLatePause = 100 * time.Millisecond
	mostLatePause  = time.Second
)

// lateEnds holds the ends of calls that are not yet stored, and stores them as soon as the store accepts writes again. So a record
// becomes unresolved only if no process knows its outcome.
type lateEnds struct {
	store  Store
	now    func() time.Time
	turn   chan struct{} // held by the goroutine that stores them
	added  chan struct{} // receives when some were added since the last turn
	became func(LateEnd) // counts them

	mu      sync.Mutex
	waiting []end
	bytes   int // of responses
}

func newLateEnds(s Store, now func() time.Time, became func(LateEnd)) *lateEnds {
	if became == nil {
		became = func(LateEnd) {}
	}
	return &lateEnds{store: s, now: now, became: became, turn: make(chan struct{}, 1), added: make(chan struct{}, 1)}
}

// add keeps an end whose settlement failed with err. It drops unknown outcomes, calls without a record, and ends that the store refuses.
func (l *lateEnds) add(n end, err error) {
	if !errors.Is(err, store.ErrUnavailable) || !n.admission.Recorded || n.settlement.State == store.Unresolved {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= maxLate {
		l.became(LateEnd{})
		return
	}
	n.answered = n.settlement.Answer != nil
	l.keep(n)
	select {
	case l.added <- struct{}{}:
	default:
	}
}

// keep adds one more, without its response if there are too many.
func (l *lateEnds) keep(n end) {
	if l.bytes+n.size() > maxLateAnswers {
		n.settlement.Answer = nil
	}
	l.bytes += n.size()
	l.waiting = append(l.waiting, n)
}

// take removes some, the oldest first.
func (l *lateEnds) take() []end {
	l.mu.Lock()
	defer l.mu.Unlock()
	some := l.waiting[:min(lateAtOnce, len(l.waiting))]
	l.waiting = l.waiting[len(some):]
	for i := range some {
		l.bytes -= some[i].size()
	}
	return some
}

// left returns how many are waiting.
func (l *lateEnds) left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// run stores ends until ctx ends.
func (l *lateEnds) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.added:
			l.settle(ctx)
		}
	}
}

// settle retries until none is left or ctx ends, and returns how many are left.
func (l *lateEnds) settle(ctx context.Context) int {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return l.left()
	}
	defer func() { <-l.turn }()
	pause := leastLatePause
	for l.left() > 0 && ctx.Err() == nil {
		if l.try(ctx) {
			pause = leastLatePause
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, mostLatePause)
	}
	return l.left()
}

// try stores some ends, and reports whether the store accepted any. The others move to the back of the queue and wait there until their
// deadline.
func (l *lateEnds) try(ctx context.Context) bool {
	some := l.take()
	failed := make([]bool, len(some))
	var all sync.WaitGroup
	for i := range some {
		all.Go(func() {
			record, err := l.store.Settle(ctx, some[i].admission, some[i].settlement)
			if failed[i] = errors.Is(err, store.ErrUnavailable); !failed[i] {
				l.became(LateEnd{
					Stored: err == nil || errors.Is(err, store.ErrSettled), AnswerLost: err == nil && some[i].answered && record.Answer == nil,
				})
			}
		})
	}
	all.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	took := false
	for i := range some {
		took = took || !failed[i]
		switch {
		case !failed[i]:
		case l.now().Before(some[i].deadline):
			l.keep(some[i])
		default:
			l.became(LateEnd{})
		}
	}
	return took
}
