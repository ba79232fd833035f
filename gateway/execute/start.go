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

// Start starts a call that continues in the background. It returns when the record of the call is durable or the call has ended. From then
// on, the call uses only the values of ctx, and neither its deadline nor its cancellation affects the call. Start ignores Call.Observe;
// Ended returns the Event.
func (x *Executor) Start(ctx context.Context, call Call) *StartedCall {
	s := &StartedCall{started: make(chan struct{}), done: make(chan struct{})}
	call.began = func(r Reference) {
		s.reference = r
		close(s.started)
	}
	call.Observe = func(e *Event) { s.event = e }
	share := membudget.Of(ctx).Beside() // the memory of the request may be released before the call ends
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

// Begun returns the reference to the record of the call. It returns false if the call ended without a record.
func (s *StartedCall) Begun() (Reference, bool) {
	select {
	case <-s.started:
		return s.reference, true
	default:
		return Reference{}, false
	}
}

// Done returns a channel that is closed when the call has ended.
func (s *StartedCall) Done() <-chan struct{} { return s.done }

// Ended waits until the call has ended, and returns the result of Execute and the Event.
func (s *StartedCall) Ended() (Result, *Event, error) {
	<-s.done
	return s.result, s.event, s.err
}
