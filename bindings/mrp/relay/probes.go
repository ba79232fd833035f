package relay

import (
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/cache"
	"github.com/uimgate/uimgate/store/mail"
)

const (
	// probeFailures is the number of consecutive failures after which a webhook that never accepted a message is disabled.
	probeFailures = 5
	maxProbes     = 100_000 // webhooks that are remembered
)

// probes are the results of this process for webhooks. Anyone can set a webhook to a foreign URL. Therefore, until a webhook has
// responded with 200 to a message signed with its secret, it gets one attempt at a time, and a pause after each failure. A webhook
// without a result is probed again.
type probes struct {
	mu sync.Mutex
	of *cache.Cache[mail.Key, probe]
}

// A probe is the state of a webhook since it was set.
type probe struct {
	set    time.Time // when it was
	proved bool
	failed int // consecutive
	until  time.Time
}

func newProbes() *probes {
	return &probes{of: cache.New(cache.Options[mail.Key, probe]{Max: maxProbes})}
}

// proved reports whether a webhook has accepted a message. set is when it was set.
func (p *probes) proved(owner mail.Key, set time.Time) bool {
	seen, ok := p.of.Get(owner)
	return ok && seen.proved && seen.set.Equal(set)
}

// most returns how many attempts to an agent's webhook may be in progress.
func (p *probes) most(owner mail.Key) int {
	if seen, ok := p.of.Get(owner); ok && seen.proved {
		return postEach
	}
	return 1
}

// hold returns until when nothing is posted to a webhook.
func (p *probes) hold(w mail.Webhook) time.Time {
	if seen, ok := p.of.Get(w.Owner); ok && !seen.proved && seen.set.Equal(w.CreatedAt) {
		return seen.until
	}
	return time.Time{}
}

// ended records the result of an attempt, and returns when the next one may begin.
func (p *probes) ended(w mail.Webhook, ok bool, now time.Time) (next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen, _ := p.of.Get(w.Owner)
	switch {
	case seen.set.After(w.CreatedAt): // it has been set again since
		return now
	case !seen.set.Equal(w.CreatedAt):
		seen = probe{set: w.CreatedAt}
	}
	if ok {
		seen.proved, seen.failed = true, 0
	} else {
		seen.failed++
		seen.until = now.Add(pauses[min(seen.failed, len(pauses))-1])
	}
	p.of.Set(w.Owner, seen)
	return seen.until
}
