package bridge

import (
	"context"
	"time"
)

// patient returns the function that waits between two attempts of a call. The function returns an error if the host has cancelled the call;
// otherwise it calls wait. If wait is nil, the function waits for d; it returns early, with an error, if ctx ends, the host cancels the
// call or the bridge shuts down.
func patient(wait func(context.Context, time.Duration) error, stopping <-chan struct{}) func(context.Context, time.Duration) error {
	return func(ctx context.Context, d time.Duration) error {
		switch {
		case cancelled(ctx):
			return context.Canceled
		case wait != nil:
			return wait(ctx, d)
		}
		return sleep(ctx, d, stopping)
	}
}

func sleep(ctx context.Context, d time.Duration, stopping <-chan struct{}) error {
	gone, _ := ctx.Value(hostGone{}).(<-chan struct{})
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-gone:
		return context.Canceled
	case <-stopping:
		return context.Canceled
	case <-timer.C:
		return nil
	}
}
