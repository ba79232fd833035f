package agenttest

import (
	"sync"
	"time"
)

// A Clock stands still until a test moves it. It is safe for concurrent use.
type Clock struct {
	mu sync.Mutex
	t  time.Time
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

// SetNow sets the clock to the real time. It then stands still again.
func (c *Clock) SetNow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = time.Now()
}

// Add moves the clock by d.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}
