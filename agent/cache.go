package agent

import (
	"net/url"
	"sync"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/problem"
)

// maxCachedAgents limits how many agents.json documents a client caches. When the limit is reached, the next document empties the cache.
const maxCachedAgents = 64

// An agentsCache holds parsed agents.json documents by address, so that an unchanged document is neither transferred nor parsed again (RFC
// 9110, section 13.1.2).
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

// put stores a document if it has an ETag that is short enough to be sent back; otherwise put removes the entry of the address.
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
