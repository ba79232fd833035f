package policies

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/internal/reason"
)

// turnWait is how long an operation waits for its turn.
const turnWait = 5 * time.Second

// A turn admits one operation at a time among those that compile and evaluate the policies of callers, because the
// calls of agents need the processors too.
type turn chan struct{}

// take waits for the turn, for at most turnWait. The caller must call release.
func (t turn) take(ctx context.Context) (release func(), err error) {
	release = func() { <-t }
	select {
	case t <- struct{}{}:
		return release, nil
	default:
	}
	wait := time.NewTimer(turnWait)
	defer wait.Stop()
	select {
	case t <- struct{}{}:
		return release, nil
	case <-wait.C:
	case <-ctx.Done():
	}
	return nil, reason.TooManyConnections.Refusal("Another policy is being compared. Try again.").After(turnWait).
		ShedFor(reason.ShedComparisons)
}
