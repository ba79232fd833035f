package upstream

import (
	"context"
	"sync"
	"time"
)

// A term is a context with a deadline. It creates a timer only if Done is called, which is rare, because operations on a connection have
// separate deadlines. Like every other context, it uses time.Now.
type term struct {
	context.Context //nolint:containedctx // the parent of this context

	until  time.Time
	mu     sync.Mutex
	timed  context.Context //nolint:containedctx // the context with the timer; nil: Done was not called
	cancel context.CancelFunc
}

// begin makes t a child of ctx that ends after d. The caller must call end.
func (t *term) begin(ctx context.Context, d time.Duration) {
	t.Context, t.until = ctx, time.Now().Add(d) //nolint:forbidigo // contexts use the clock of the machine
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

// Value implements context.Context. It lets package context find the context with the timer, if there is one.
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
