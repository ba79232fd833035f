package relay

import (
	"context"

	"github.com/uimgate/uimgate/bindings/mrp/wire"
)

// Swept deletes what is past its time, once.
func (r *Relay) Swept(ctx context.Context) { r.sweepOnce(ctx) }

// Waiting is how many polls of an agent wait.
func (r *Relay) Waiting(key wire.Key) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiters[key]
}

// Post begins to post what is due, without waiting for the next second.
func (r *Relay) Post(ctx context.Context) { r.postDue(ctx) }
