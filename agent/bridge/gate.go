package bridge

import (
	"context"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/internal/delay"
)

// In the context of a call, connection is the key for the context of the HTTP request. Before revision 2026-07-28, a lost
// connection cancels nothing, but the outcome no longer reaches the host.
type connection struct{}

// toolCallKey is the key of the *toolCall in the context of a call.
type toolCallKey struct{}

// waiting returns a context that ends when the host no longer waits for a call, because the host has cancelled the call or hung up, or
// because the bridge shuts down. The caller must call release.
func (b *Bridge) waiting(ctx context.Context) (host context.Context, release func()) {
	host, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.running, func() { cancel(errEnds) })
	if lost, ok := ctx.Value(connection{}).(context.Context); ok {
		context.AfterFunc(lost, func() { cancel(context.Canceled) }) // lost ends with its request
	}
	return host, func() { stop(); cancel(nil) }
}

// patient returns the function that waits between two attempts of a call: wait or, if that is nil, a timer. The wait ends with an error
// when the host no longer waits for the call.
func (b *Bridge) patient(wait func(context.Context, time.Duration) error) func(context.Context, time.Duration) error {
	if wait == nil {
		wait = delay.For
	}
	return func(ctx context.Context, d time.Duration) error {
		host := b.running
		if m, ok := ctx.Value(toolCallKey{}).(*toolCall); ok {
			host = m.host
		}
		if host.Err() != nil {
			return context.Canceled
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(host, cancel)() //nolint:contextcheck // host is the context of the call, or that of the bridge
		return wait(ctx, d)
	}
}

// gated returns a function that wraps transports. A wrapped transport stores a call before sending it, and sends no further request
// for a call that the host has cancelled. A request that was already sent completes, and so do agreements and renewals, because
// other calls wait for them.
func gated(wrap func(http.RoundTripper) http.RoundTripper) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		if wrap != nil {
			next = wrap(next)
		}
		return gate{next}
	}
}

type gate struct{ next http.RoundTripper }

func (g gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if m, ok := r.Context().Value(toolCallKey{}).(*toolCall); ok && r.Header.Get("Idempotency-Key") != "" {
		if m.host.Err() != nil {
			return nil, context.Canceled
		}
		if err := m.sends(r.Context(), r.Header.Get("Idempotency-Key")); err != nil {
			return nil, err
		}
	}
	return g.next.RoundTrip(r)
}
