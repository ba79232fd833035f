package pat

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"
)

// workers bound concurrent work.
type workers struct{ free *semaphore.Weighted }

func newWorkers(n int) workers { return workers{semaphore.NewWeighted(int64(n))} }

// verifying bounds how many unauthenticated signatures are verified concurrently, in all services of the process: half of the processors
// stay free for agents with a PAT.
var verifying = newWorkers(max(1, runtime.GOMAXPROCS(0)/2))

// maxVerifyWait bounds how long a signature waits for a worker.
const maxVerifyWait = time.Second

// inTurn calls a function when a worker is free. The error is ErrBusy, or that of the function.
func (w workers) inTurn(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, maxVerifyWait)
	defer cancel()
	if w.free.Acquire(ctx, 1) != nil {
		return ErrBusy
	}
	defer w.free.Release(1)
	return do()
}
