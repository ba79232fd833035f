package mcp

import (
	"context"
	"strconv"
	"time"
)

// doubtTime is how long a process that did not respond in time may send nothing at all.
const doubtTime = 5 * time.Second

// probe sends a ping, and ends the process if it sends nothing for doubtTime. Many servers work on one message at a time, so the response
// to the ping comes after those to earlier requests. The process may therefore be silent until their deadlines have passed.
func (c *child) probe() {
	newest := c.newest()
	id := -c.probes.Add(1)
	w := c.await(id)
	defer c.forget(id)
	sent := false
	for {
		heard := c.heard.Load()
		ctx, cancel := context.WithTimeout(context.Background(), doubtTime)
		if !sent {
			n, _ := c.write(ctx, ping(id), admitted)
			sent = n > 0
		}
		select {
		case <-w:
			cancel()
			return
		case <-c.gone:
			cancel()
			return
		case <-ctx.Done():
			cancel()
		}
		if c.heard.Load() == heard && !c.waitsSince(newest) {
			c.kill("it did not respond to any request for " + doubtTime.String())
			return
		}
	}
}

func ping(id int64) []byte {
	return append(strconv.AppendInt([]byte(`{"jsonrpc":"2.0","id":`), id, 10), `,"method":"ping"}`...)
}

// newest returns the id of the newest request in progress, or 0.
func (c *child) newest() (id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for waiting := range c.waiting {
		id = max(id, waiting)
	}
	return id
}

// waitsSince reports whether a request that is not newer than id is in progress.
func (c *child) waitsSince(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for waiting := range c.waiting {
		if 0 < waiting && waiting <= id {
			return true
		}
	}
	return false
}
