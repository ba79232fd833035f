package pat

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"
)

// workers bound how much work is done at once.
type workers struct{ free *semaphore.Weighted }

func newWorkers(n int) workers { return workers{semaphore.NewWeighted(int64(n))} }

// verifying bounds how many signatures of strangers are verified at once, in all services of the process: half of the
// processors stay free for those who have a PAT.
var verifying = newWorkers(max(1, runtime.GOMAXPROCS(0)/2))

// maxVerifyWait bounds how long a signature waits for its turn.
const maxVerifyWait = time.Second

// inTurn does work when it is its turn. The error is ErrBusy, or what do returns.
func (w workers) inTurn(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, maxVerifyWait)
	defer cancel()
	if w.free.Acquire(ctx, 1) != nil {
		return ErrBusy
	}
	defer w.free.Release(1)
	return do()
}
