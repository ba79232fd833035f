package agent

import (
	"net/url"
	"sync"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/problem"
)

// maxCopies bounds how many agents.json a client remembers; beyond it all are forgotten.
const maxCopies = 64

// copies are the agents.json a client has read, by address, so that one that has not changed is neither
// sent nor read again.
type copies struct {
	mu sync.Mutex
	by map[string]agentsCopy
}

type agentsCopy struct {
	etag     string
	catalog  *intents.Catalog
	problems problem.List
	at       *url.URL
}

func (c *copies) of(address string) (agentsCopy, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	had, ok := c.by[address]
	return had, ok
}

// keep remembers a document that carries an ETag which can be sent back; any other is forgotten.
func (c *copies) keep(address string, made agentsCopy) {
	const most = 256
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.by, address)
	if made.etag == "" || len(made.etag) > most {
		return
	}
	if c.by == nil || len(c.by) >= maxCopies {
		c.by = map[string]agentsCopy{}
	}
	c.by[address] = made
}
