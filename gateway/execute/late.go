package execute

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/store"
)

// An end is the end of a call that could not be stored when the call ended.
type end struct {
	admission  store.Admission
	settlement store.Settlement
	deadline   time.Time // deadline of the record, after which the record becomes unresolved
	answered   bool      // there was a response to store
}

// A LateEnd reports the result of storing an end later than its call ended.
type LateEnd struct {
	Stored     bool // the end was stored; otherwise the record becomes unresolved
	AnswerLost bool // the response was not stored, so a repeated call under the idempotency key does not return it
}

// size returns the number of bytes of an end that count towards maxLateAnswers.
func (n *end) size() int {
	if n.settlement.Answer == nil {
		return 0
	}
	return n.settlement.Answer.Size()
}

const (
	maxLate        = 16 << 10 // maximum number of waiting ends; the records of further calls become unresolved
	maxLateAnswers = 64 << 20 // maximum size of the waiting responses, in bytes; beyond that, ends are kept without responses
	lateAtOnce     = 64       // ends that are stored concurrently
	// The pause between two failed attempts starts at leastLatePause and doubles up to mostLatePause.
	leastLatePause = 100 * time.Millisecond
	mostLatePause  = time.Second
)

// lateEnds holds the ends of calls that could not be stored, and stores them as soon as the store accepts writes again. A record therefore
// becomes unresolved only if no process knows the outcome of its call.
type lateEnds struct {
	store  Store
	now    func() time.Time
	turn   chan struct{} // held by the goroutine that stores ends
	added  chan struct{} // has a value if ends were added since run last received from it
	became func(LateEnd) // reports the result for each end

	mu      sync.Mutex
	waiting []end
	bytes   int // size of the waiting responses
}

func newLateEnds(s Store, now func() time.Time, became func(LateEnd)) *lateEnds {
	if became == nil {
		became = func(LateEnd) {}
	}
	return &lateEnds{store: s, now: now, became: became, turn: make(chan struct{}, 1), added: make(chan struct{}, 1)}
}

// add keeps an end whose settlement failed with err, so that run stores it. It drops the end if the outcome is unknown, the call has no
// record, or err does not wrap store.ErrUnavailable. If too many ends wait, add drops the end and reports that to became.
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

// keep adds an end, without its response if the waiting responses would exceed maxLateAnswers with it.
func (l *lateEnds) keep(n end) {
	if l.bytes+n.size() > maxLateAnswers {
		n.settlement.Answer = nil
	}
	l.bytes += n.size()
	l.waiting = append(l.waiting, n)
}

// take removes and returns up to lateAtOnce ends, the oldest first.
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

// left returns the number of waiting ends.
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

// settle stores the waiting ends until none is left or ctx ends, and returns the number of ends that are left.
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
		_ = delay.For(ctx, pause) // the loop ends with ctx
		pause = min(2*pause, mostLatePause)
	}
	return l.left()
}

// try stores some ends, and reports whether the store responded for any of them. Ends for which the store was unavailable move to the back
// of the queue, unless their deadline has passed.
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
