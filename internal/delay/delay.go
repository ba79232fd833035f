// Package delay waits for a time, or for the end of a context.
package delay

import (
	"context"
	"time"
)

// For waits for d. If ctx ends first, For returns the error of ctx at once.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return ctx.Err()
}
