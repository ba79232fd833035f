package door

import (
	"context"
	"sync"
	"sync/atomic"
)

// A life is that of one agent: it is run once, or closed without that, and ends where it is told to.
type life[A Agent] struct {
	agent     A
	begun     atomic.Bool   // by run, or by unrun instead
	stopping  chan struct{} // closed by stop: nothing more is to be taken
	cutting   chan struct{} // closed by cut: nothing more is to be worked on
	ended     chan struct{}
	stop, cut func()
}

func newLife[A Agent](a A) *life[A] {
	l := &life[A]{agent: a, stopping: make(chan struct{}), cutting: make(chan struct{}), ended: make(chan struct{})}
	l.stop, l.cut = sync.OnceFunc(func() { close(l.stopping) }), sync.OnceFunc(func() { close(l.cutting) })
	return l
}

// run runs the agent until ctx ends, or it is stopped and done, or cut off.
func (l *life[A]) run(ctx context.Context) {
	if l.begun.Swap(true) {
		return
	}
	defer close(l.ended)
	working, abandon := context.WithCancel(ctx)
	taking, leave := context.WithCancel(working)
	var watching sync.WaitGroup
	watching.Go(func() {
		when(working, l.stopping, leave)
		when(working, l.cutting, abandon)
	})
	l.agent.Run(taking, working)
	abandon()
	leave()
	watching.Wait()
}

// when does something once a channel is closed, unless ctx ends first.
func when(ctx context.Context, closed <-chan struct{}, do func()) {
	select {
	case <-closed:
		do()
	case <-ctx.Done():
	}
}

// unrun ends an agent that has not run: it never will.
func (l *life[A]) unrun() {
	if !l.begun.Swap(true) {
		l.agent.Close()
		close(l.ended)
	}
}

// wait waits until the agent, which was stopped, has ended, or ctx. Then it cuts off what is under way, and returns how much that was.
func (l *life[A]) wait(ctx context.Context) (left int) {
	l.unrun()
	select {
	case <-l.ended:
		return 0
	case <-ctx.Done():
	}
	left = l.agent.UnderWay()
	l.cut()
	<-l.ended
	return left
}
