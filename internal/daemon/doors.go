package daemon

import (
	"context"
	"errors"
	"sync"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/door"
)

// openDoors opens the separate listeners of doors for the current services.
func (p *process) openDoors(ctx context.Context) error {
	var errs []error
	for _, opener := range door.Of[door.Opener](p.modules) {
		errs = append(errs, opener.Open(ctx, p.directory.Current().Services()))
	}
	return errors.Join(errs...)
}

// drainDoors waits for the background work of doors to end, within the drain timeout.
func (p *process) drainDoors(ctx context.Context) {
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.live.Load().drain)
	defer cancel()
	var ending sync.WaitGroup
	for _, runner := range door.Of[door.Runner](p.modules) {
		ending.Go(func() {
			if left := runner.Drain(drain); left > 0 {
				p.Log.Warn("the drain timeout ended before all messages of a door were answered", zap.Int("messages", left))
			}
		})
	}
	ending.Wait()
}
