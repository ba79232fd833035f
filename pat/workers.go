package pat

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"
)

// verifying bounds how many signatures of strangers are verified at once, in all services of the process: half of the
// processors stay free for those who have a PAT.
var verifying = semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)/2)))

// maxVerifyWait bounds how long a signature waits for its turn.
const maxVerifyWait = time.Second

// inTurn does work on signatures when it is its turn. The error is ErrBusy, or what do returns.
func inTurn(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, maxVerifyWait)
	defer cancel()
	if verifying.Acquire(ctx, 1) != nil {
		return ErrBusy
	}
	defer verifying.Release(1)
	return do()
}
