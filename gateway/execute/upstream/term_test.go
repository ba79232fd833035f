package upstream

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func newTerm(ctx context.Context, d time.Duration) *term {
	t := &term{}
	t.begin(ctx, d)
	return t
}

// A term ends at its deadline, whether or not its Done channel was requested before.
func TestTermDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, ask := range map[string]func(*term){
			"nothing waits":     func(*term) {},
			"Done is requested": func(c *term) { c.Done() },
			"a derived context": func(c *term) { _, cancel := context.WithCancel(c); t.Cleanup(cancel) },
		} {
			c := newTerm(t.Context(), time.Second)
			ask(c)
			if err := c.Err(); err != nil {
				t.Errorf("%s: at once: %v", name, err)
			}
			time.Sleep(time.Second)
			if err := c.Err(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: after a second: %v, want %v", name, err, context.DeadlineExceeded)
			}
			<-c.Done()
			c.end()
		}
	})
}

func TestTermEndsWithItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		early, stop := context.WithTimeout(parent, time.Millisecond)
		defer stop()
		request, not, short := newTerm(parent, time.Second), newTerm(parent, time.Second), newTerm(early, time.Second)
		inner, end := context.WithTimeout(request, time.Minute)
		defer end()
		if until, _ := short.Deadline(); until != time.Now().Add(time.Millisecond) {
			t.Errorf("its deadline is %v", until)
		}
		cancel()
		for name, c := range map[string]context.Context{"asked": request, "not asked": not, "inner": inner} {
			if <-c.Done(); !errors.Is(c.Err(), context.Canceled) {
				t.Errorf("%s: %v, want %v", name, c.Err(), context.Canceled)
			}
		}
		for _, c := range []*term{request, not, short} {
			c.end()
		}
	})
}

func TestExpiredTerm(t *testing.T) {
	c := newTerm(t.Context(), time.Hour)
	inner, cancel := context.WithCancel(c)
	defer cancel()
	c.end()
	if <-inner.Done(); !errors.Is(c.Err(), context.Canceled) {
		t.Errorf("got %v, want %v", c.Err(), context.Canceled)
	}
}
