package bridge

import (
	"context"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/delay"
)

// refresh reads the catalogues and policies of all services again if the bridge last read them more than maxAge ago. A catalogue or
// policy that cannot be read stays unchanged.
func (b *Bridge) refresh(ctx context.Context, maxAge time.Duration) {
	b.listing.Lock()
	defer b.listing.Unlock()
	b.mu.Lock()
	old := time.Since(b.listed) > maxAge
	b.mu.Unlock()
	if !old {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	_ = b.find(ctx) // find logs the errors
	b.offer()
}

// watch looks for missing services, and for changes of the others, until the bridge shuts down or ctx ends. It notifies hosts of changes.
func (b *Bridge) watch(ctx context.Context) {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.running, cancel)() //nolint:contextcheck // running also ends with the bridge
	wait := firstLook
	for {
		if b.complete() {
			wait = freshFor
		}
		if delay.For(running, wait) != nil {
			return
		}
		b.refresh(ctx, 0)
		wait = min(2*wait, freshFor)
	}
}

// complete reports whether every service has been found.
func (b *Bridge) complete() bool {
	return !slices.ContainsFunc(b.services, func(s *service) bool { return !s.found() })
}
