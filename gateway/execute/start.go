package execute

import (
	"context"

	"github.com/uimgate/uimgate/internal/membudget"
)

// A StartedCall is a call that goes on by itself.
type StartedCall struct {
	started, done chan struct{}
	reference     Reference
	result        Result
	err           error
	event         *Event
}

// Start begins a call that goes on in the background: it returns once the call has begun, durably, or has ended. After that it uses only
// the values of ctx. Call.Observe is not called; Ended returns the Event.
func (x *Executor) Start(ctx context.Context, call Call) *StartedCall {
	s := &StartedCall{started: make(chan struct{}), done: make(chan struct{})}
	call.began = func(r Reference) {
		s.reference = r
		close(s.started)
	}
	call.Observe = func(e *Event) { s.event = e }
	share := membudget.Of(ctx).Beside() // that of the request may end before the call
	ctx = membudget.With(ctx, share)
	x.started.Go(func() {
		defer close(s.done)
		defer share.Close()
		s.result, s.err = x.Execute(ctx, call)
	})
	select {
	case <-s.started:
	case <-s.done:
	}
	return s
}

// Begun returns where the record of the call is found; false where the call ended before it was begun.
func (s *StartedCall) Begun() (Reference, bool) {
	select {
	case <-s.started:
		return s.reference, true
	default:
		return Reference{}, false
	}
}

// Done is closed when the call has ended.
func (s *StartedCall) Done() <-chan struct{} { return s.done }

// Ended returns what Execute returns, and what was observed. It waits for Done.
func (s *StartedCall) Ended() (Result, *Event, error) {
	<-s.done
	return s.result, s.event, s.err
}
