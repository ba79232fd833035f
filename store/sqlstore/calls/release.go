package calls

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A release is tried up to releaseTries times, a second apart; after that, the sweeper handles the call. A commit may become visible after
// its connection was given up, so a call that is not found is looked up visibleTries times.
const (
	releaseTries = 120
	visibleTries = 5
)

// Release releases, in the background, the units and the credit that an unsent call may have taken. It ignores a call without a record,
// because such a call cannot be distinguished from one that never began.
func (c *Calls) Release(b store.Admission) {
	if !b.Recorded {
		return
	}
	q := &c.releases
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy || c.db.Go(c.releaseAll) {
		q.busy, q.calls = true, append(q.calls, unsettledCall{Admission: b})
	}
}

// Releasing reports whether calls wait to be released, and how often the first of them was tried.
func (c *Calls) Releasing() (busy bool, tries int) {
	q := &c.releases
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) > 0 {
		tries = q.calls[0].tries
	}
	return q.busy, tries
}

// take removes all calls from the queue and returns them. If there are none, the goroutine that works on the queue must end.
func (l *releaseQueue) take() (calls []unsettledCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls, l.calls = l.calls, nil
	l.busy = len(calls) > 0
	return calls
}

func (l *releaseQueue) put(calls []unsettledCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, calls...)
}

func (c *Calls) releaseAll() {
	for calls := c.releases.take(); len(calls) > 0; calls = c.releases.take() {
		left := c.releaseEach(calls)
		if len(left) == 0 {
			continue
		}
		c.releases.put(left)
		select {
		case <-c.db.Ending():
		case <-time.After(time.Second):
		}
	}
}

// releaseEach releases calls, and returns those to try again.
func (c *Calls) releaseEach(calls []unsettledCall) (left []unsettledCall) {
	for i, u := range calls {
		_, err := c.settle(context.Background(), u.Admission, store.Settlement{State: store.Released, Outcome: store.NotSent}, false)
		u.tries++
		switch {
		case engine.Closed(err):
			return nil
		case errors.Is(err, store.ErrUnavailable): // the other calls would also fail
			if u.tries < releaseTries {
				left = append(left, u)
			}
			return append(left, calls[i+1:]...)
		case errors.Is(err, store.ErrNotFound) && u.tries < visibleTries:
			left = append(left, u)
		}
	}
	return left
}
