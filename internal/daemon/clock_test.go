package daemon_test

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// A clock is a running clock that tests can set.
type clock struct {
	mu   sync.Mutex
	now  time.Time
	real time.Time
}

// Now returns the time that was set plus the real time since then.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real.IsZero() {
		c.real = time.Now()
	}
	return c.now.Add(time.Since(c.real))
}

// move sets the clock forward or back, and returns its earlier time.
func (c *clock) move(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real.IsZero() {
		c.real = time.Now()
	}
	was := c.now
	c.now = c.now.Add(d)
	return was
}

func (c *clock) set(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = to
}

// waitABit waits until the process under test has polled again.
func waitABit(t *testing.T) {
	t.Helper()
	runtime.Gosched()
	timer := time.NewTimer(50 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}
