package upstream

import (
	"context"
	"sync"
	"time"
)

// A term is a context that ends at a time. It makes its timer only when something waits for it, which is rare, because operations on a
// connection have separate deadlines. It ends by time.Now, like every other context.
type term struct {
	context.Context //nolint:containedctx // a term is a context: this ends it before, if it ends

	until  time.Time
	mu     sync.Mutex
	timed  context.Context //nolint:containedctx // that with the timer; nil: nobody has asked
	cancel context.CancelFunc
}

// begin derives the term from a context. The caller must call end.
func (t *term) begin(ctx context.Context, d time.Duration) {
	t.Context, t.until = ctx, time.Now().Add(d) //nolint:forbidigo // contexts end by the clock of the machine
	if before, ok := ctx.Deadline(); ok && before.Before(t.until) {
		t.until = before
	}
}

// Deadline implements context.Context.
func (t *term) Deadline() (time.Time, bool) { return t.until, true }

// Done implements context.Context.
func (t *term) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timed == nil {
		t.timed, t.cancel = context.WithDeadline(t.Context, t.until)
	}
	return t.timed.Done()
}

// Err implements context.Context.
func (t *term) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.Context
	if t.timed != nil {
		before = t.timed
	}
	if err := before.Err(); err != nil {
		return err
	}
	if !time.Now().Before(t.until) { //nolint:forbidigo // as above
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context. With it, package context finds the timer, if there is one.
func (t *term) Value(key any) any {
	t.mu.Lock()
	timed := t.timed
	t.mu.Unlock()
	if timed != nil {
		return timed.Value(key)
	}
	return t.Context.Value(key)
}

// end stops the timer.
func (t *term) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel()
	}
}
