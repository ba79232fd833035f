package discovery

import (
	"errors"
	"time"

	"github.com/uimgate/uimgate/internal/cache"
)

const (
	// defaultNames is the default number of names that a Resolver caches. Each domain takes two.
	defaultNames = 4096
	// minTTL keeps an agent from sending a query for every call, whatever TTL a domain sets.
	minTTL = 5 * time.Second
	// maxTTL bounds how long a removed record is still used.
	maxTTL = time.Hour
	// maxNegativeTTL bounds how long a cached absence of records can hide a new record.
	maxNegativeTTL = 5 * time.Minute
	// maxTexts bounds the total size of the texts that are cached for one name, in bytes. An answer with more is not cached.
	maxTexts = 16 << 10
)

// answers caches answers for their TTL, within the bounds above. Failed queries are not cached.
type answers struct {
	now func() time.Time
	of  *cache.Cache[string, answer] // nil if nothing is cached
}

func newAnswers(size int, now func() time.Time) *answers {
	c := &answers{now: now}
	if size == 0 {
		size = defaultNames
	}
	if size > 0 {
		c.of = cache.New(cache.Options[string, answer]{Max: size})
	}
	return c
}

func (c *answers) get(name string) (answer, bool) {
	if c.of == nil {
		return answer{}, false
	}
	a, ok := c.of.Get(name)
	if !ok || !c.now().Before(a.expires) {
		return answer{}, false
	}
	return a, true
}

// put sets the expiry of the answer and caches the answer until then. It drops all texts except UIM records and proofs for the MCP
// registry, and returns the answer without the dropped texts. It does not cache an absence of records without a TTL.
func (c *answers) put(a answer) answer {
	ttl := max(a.ttl, minTTL)
	if errors.Is(a.err, ErrNotFound) && a.ttl == 0 {
		ttl = 0
	}
	a.expires = c.now().Add(min(ttl, maxTTL))
	kept, size := a, 0
	kept.texts = nil
	for _, text := range a.texts {
		_, ours, _ := parseRecord(a.name, text)
		if _, proof := parseProof(a.name, text); ours || proof {
			kept.texts = append(kept.texts, text)
			size += len(text)
		}
	}
	if c.of != nil && ttl > 0 && size <= maxTexts {
		c.of.Set(a.name, kept)
	}
	return kept
}
