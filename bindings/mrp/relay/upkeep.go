package relay

import (
	"context"
	"time"

	"go.uber.org/zap"
)

const (
	sweepEvery = 30 * time.Second
	sweepStep  = 1000 // records of each kind
)

// sweep deletes expired records until ctx ends.
func (r *Relay) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		r.sweepOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *Relay) sweepOnce(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		var blobs []string
		var err error
		if blobs, more, err = r.store.Sweep(ctx, sweepStep); err != nil {
			if ctx.Err() == nil {
				r.log.Warn("expired records could not be deleted", zap.Error(err))
			}
			break
		}
		r.blobs.remove(blobs)
	}
}
