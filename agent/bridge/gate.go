package bridge

import (
	"context"
	"net/http"
)

// hostGone is the key of a channel in the context of a call. The channel is closed when the host cancels the call.
type hostGone struct{}

// cancelled reports whether the host has cancelled the call of a context.
func cancelled(ctx context.Context) bool {
	gone, _ := ctx.Value(hostGone{}).(<-chan struct{})
	select {
	case <-gone:
		return true
	default:
		return false
	}
}

// connection is the key of a channel in the context of a call over HTTP. The channel is closed when the connection is lost. Before
// revision 2026-07-28 a lost connection cancels nothing, but the outcome no longer reaches the host.
type connection struct{}

// hungUp returns the channel that is stored under connection; it is nil if there is none.
func hungUp(ctx context.Context) <-chan struct{} {
	lost, _ := ctx.Value(connection{}).(<-chan struct{})
	return lost
}

// toolCallKey is the key of the *toolCall in the context of a call.
type toolCallKey struct{}

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
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		if cancelled(r.Context()) {
			return nil, context.Canceled
		}
		if m, ok := r.Context().Value(toolCallKey{}).(*toolCall); ok {
			if err := m.sends(r.Context(), key); err != nil {
				return nil, err
			}
		}
	}
	return g.next.RoundTrip(r)
}
