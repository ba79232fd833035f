package agent

import (
	"net/url"
	"sync"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/problem"
)

// maxCachedAgents bounds how many agents.json a client caches; beyond it all are dropped.
const maxCachedAgents = 64

// An agentsCache holds parsed agents.json documents by address, so that an unchanged document is neither transferred nor parsed again.
// RFC 9110 13.1.2.
type agentsCache struct {
	mu      sync.Mutex
	entries map[string]cachedAgents
}

type cachedAgents struct {
	etag     string
	catalog  *intents.Catalog
	problems problem.List
	at       *url.URL
}

func (c *agentsCache) get(address string) (cachedAgents, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	had, ok := c.entries[address]
	return had, ok
}

// put stores a document that has an ETag which can be sent back, and removes any other.
func (c *agentsCache) put(address string, made cachedAgents) {
	const most = 256
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, address)
	if made.etag == "" || len(made.etag) > most {
		return
	}
	if c.entries == nil || len(c.entries) >= maxCachedAgents {
		c.entries = map[string]cachedAgents{}
	}
	c.entries[address] = made
}
