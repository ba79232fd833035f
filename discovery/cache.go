package discovery

import (
	"errors"
	"time"

	"github.com/maypok86/otter/v2"
)

const (
	// defaultNames is how many names a Resolver remembers. One domain takes two.
	defaultNames = 4096
	// minTTL keeps one agent from asking for every call, whatever a domain wishes.
	minTTL = 5 * time.Second
	// maxTTL bounds how long a record that was taken back is believed.
	maxTTL = time.Hour
	// maxNegativeTTL bounds the same of records that are not there yet.
	maxNegativeTTL = 5 * time.Minute
	// maxTexts bounds what is remembered of one name, in bytes.
	maxTexts = 16 << 10
)

// A cache remembers answers for as long as they say, within bounds. Failures are not remembered.
type cache struct {
	now     func() time.Time
	answers *otter.Cache[string, answer] // nil: nothing is remembered
}

func newCache(size int, now func() time.Time) *cache {
	c := &cache{now: now}
	if size == 0 {
		size = defaultNames
	}
	if size > 0 {
		c.answers = otter.Must(&otter.Options[string, answer]{MaximumSize: size})
	}
	return c
}

func (c *cache) get(name string) (answer, bool) {
	if c.answers == nil {
		return answer{}, false
	}
	a, ok := c.answers.GetIfPresent(name)
	if !ok || !c.now().Before(a.expires) {
		return answer{}, false
	}
	return a, true
}

// put says when the answer expires and remembers it until then. Only what UIM's records may be made of
// is kept.
func (c *cache) put(a answer) answer {
	ttl := max(a.ttl, minTTL)
	if errors.Is(a.err, ErrNotFound) && a.ttl == 0 {
		ttl = 0
	}
	a.expires = c.now().Add(min(ttl, maxTTL))
	kept, size := a, 0
	kept.texts = nil
	for _, text := range a.texts {
		if _, ours, _ := parseRecord(a.name, text); ours {
			kept.texts = append(kept.texts, text)
			size += len(text)
		}
	}
	if c.answers != nil && ttl > 0 && size <= maxTexts {
		c.answers.Set(a.name, kept)
	}
	return kept
}
