package pat

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"
)

// workers limits how many functions run concurrently.
type workers struct{ free *semaphore.Weighted }

func newWorkers(n int) workers { return workers{semaphore.NewWeighted(int64(n))} }

// verifying limits how many unauthenticated signatures are verified concurrently, in all services of the process. It leaves half of the
// processors to agents with a PAT.
var verifying = newWorkers(max(1, runtime.GOMAXPROCS(0)/2))

// maxVerifyWait is the maximum time that a signature waits for a worker.
const maxVerifyWait = time.Second

// inTurn calls the function do when a worker is free, and returns its error. It returns ErrBusy if no worker becomes free within
// maxVerifyWait, or before ctx ends.
func (w workers) inTurn(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, maxVerifyWait)
	defer cancel()
	if w.free.Acquire(ctx, 1) != nil {
		return ErrBusy
	}
	defer w.free.Release(1)
	return do()
}
