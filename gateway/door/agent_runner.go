package door

import (
	"context"
	"sync"
	"sync/atomic"
)

// An agentRunner runs one agent once, or closes it without running it.
type agentRunner[A Agent] struct {
	agent     A
	ran       atomic.Bool   // set by run, and by unrun
	stopping  chan struct{} // closed by stop: the agent accepts no more messages
	cutting   chan struct{} // closed by cut: the agent abandons the messages in progress
	ended     chan struct{}
	stop, cut func()
}

func newAgentRunner[A Agent](a A) *agentRunner[A] {
	r := &agentRunner[A]{agent: a, stopping: make(chan struct{}), cutting: make(chan struct{}), ended: make(chan struct{})}
	r.stop, r.cut = sync.OnceFunc(func() { close(r.stopping) }), sync.OnceFunc(func() { close(r.cutting) })
	return r
}

// run runs the agent until ctx ends, until it is stopped and has finished its work, or until it is cut off. If the agent has been run or
// closed before, run does nothing.
func (r *agentRunner[A]) run(ctx context.Context) {
	if r.ran.Swap(true) {
		return
	}
	defer close(r.ended)
	working, abandon := context.WithCancel(ctx)
	taking, leave := context.WithCancel(working)
	var watching sync.WaitGroup
	watching.Go(func() {
		when(working, r.stopping, leave)
		when(working, r.cutting, abandon)
	})
	r.agent.Run(taking, working)
	abandon()
	leave()
	watching.Wait()
}

// when calls a function after a channel is closed, unless ctx ends first.
func when(ctx context.Context, closed <-chan struct{}, do func()) {
	select {
	case <-closed:
		do()
	case <-ctx.Done():
	}
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
