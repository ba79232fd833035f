package door

import (
	"context"
	"sync/atomic"
)

// An agentRunner runs one agent once, or closes it without running it.
type agentRunner[A Agent] struct {
	agent           A
	ran             atomic.Bool        // set by run, and by unrun
	taking, working context.Context    //nolint:containedctx // of Agent.Run
	stop, cut       context.CancelFunc // end taking and working
	ended           chan struct{}
}

func newAgentRunner[A Agent](a A) *agentRunner[A] {
	r := &agentRunner[A]{agent: a, ended: make(chan struct{})}
	r.working, r.cut = context.WithCancel(context.Background()) //nolint:gosec // run calls it at the end
	r.taking, r.stop = context.WithCancel(r.working)            //nolint:gosec // it ends with working
	return r
}

// run runs the agent until ctx ends, until it is stopped and has finished its work, or until it is cut off. If the agent has been run or
// closed before, run does nothing.
func (r *agentRunner[A]) run(ctx context.Context) {
	if r.ran.Swap(true) {
		return
	}
	defer close(r.ended)
	defer r.cut()
	defer context.AfterFunc(ctx, r.cut)()
	r.agent.Run(r.taking, r.working) //nolint:contextcheck // they end with ctx
}

// unrun closes the agent if it has not run. The agent cannot run afterwards.
func (r *agentRunner[A]) unrun() {
	if !r.ran.Swap(true) {
		r.agent.Close()
		close(r.ended)
	}
}

// wait must be called after stop. It waits until the agent has ended. If the agent has not run, wait closes it. If ctx ends first, wait
// cuts the agent off, waits until it has ended, and returns how many messages the agent abandoned.
func (r *agentRunner[A]) wait(ctx context.Context) (left int) {
	r.unrun()
	select {
	case <-r.ended:
		return 0
	case <-ctx.Done():
	}
	left = r.agent.UnderWay()
	r.cut()
	<-r.ended
	return left
}
