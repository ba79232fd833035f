package relay

import (
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/cache"
	"github.com/uimgate/uimgate/store/mail"
)

const (
	// probeFailures is the number of consecutive failures after which a webhook that has never accepted a message is disabled.
	probeFailures = 5
	maxProbes     = 100_000 // webhooks that are remembered
)

// probes records the results of attempts by this process, for each webhook. Anyone can set a webhook to a URL that belongs to others.
// Therefore, until a webhook has responded with status 200 to a message that is signed with its secret, it gets one attempt at a time,
// with a pause after each failure. A webhook whose result has been evicted is probed again.
type probes struct {
	mu sync.Mutex
	of *cache.Cache[mail.Key, probe]
}

// A probe is the state of a webhook since it was set.
type probe struct {
	set    time.Time // when the webhook was set
	proved bool
	failed int       // consecutive failures
	until  time.Time // the end of the pause after the last failure
}

func newProbes() *probes {
	return &probes{of: cache.New(cache.Options[mail.Key, probe]{Max: maxProbes})}
}

// proved reports whether the webhook that was set at the given time has accepted a message.
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

// hold returns the time until which posts to a webhook are paused. The zero time means that posts are not paused.
func (p *probes) hold(w mail.Webhook) time.Time {
	if seen, ok := p.of.Get(w.Owner); ok && !seen.proved && seen.set.Equal(w.CreatedAt) {
		return seen.until
	}
	return time.Time{}
}

// ended records the result of an attempt, and returns when the next attempt may begin.
func (p *probes) ended(w mail.Webhook, ok bool, now time.Time) (next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen, _ := p.of.Get(w.Owner)
	switch {
	case seen.set.After(w.CreatedAt): // the webhook has been set again since
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
