package execute

import (
	"context"

	"github.com/uimgate/uimgate/internal/membudget"
)

// A StartedCall is a call that continues in the background.
type StartedCall struct {
	started, done chan struct{}
	reference     Reference
	result        Result
	err           error
	event         *Event
}

// Start starts a call that continues in the background: it returns once the call has begun, durably, or has ended. After that it uses
// only the values of ctx. It does not call Call.Observe; Ended returns the Event.
func (x *Executor) Start(ctx context.Context, call Call) *StartedCall {
	s := &StartedCall{started: make(chan struct{}), done: make(chan struct{})}
	call.began = func(r Reference) {
		s.reference = r
		close(s.started)
	}
	call.Observe = func(e *Event) { s.event = e }
	share := membudget.Of(ctx).Beside() // the request's memory may be released before the call ends
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

// Begun returns the location of the record of the call; false if the call ended before it began.
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

// Ended waits for Done and returns the result of Execute and the Event.
func (s *StartedCall) Ended() (Result, *Event, error) {
	<-s.done
	return s.result, s.event, s.err
}
