package relay

import (
	"context"
	"sync"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// A hub wakes requests that wait for messages to an agent.
type hub struct {
	mu      sync.Mutex
	waiting map[wire.Key]map[chan struct{}]bool
}

// join returns a channel that has a value once a message has arrived since the last receive, or since the call to join. The caller must
// call leave when it no longer waits.
func (h *hub) join(key wire.Key) (woken <-chan struct{}, leave func()) {
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == nil {
		h.waiting = map[wire.Key]map[chan struct{}]bool{}
	}
	if h.waiting[key] == nil {
		h.waiting[key] = map[chan struct{}]bool{}
	}
	h.waiting[key][ch] = true
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.waiting[key], ch); len(h.waiting[key]) == 0 {
			delete(h.waiting, key)
		}
	}
}

// wake wakes all requests that wait for messages to an agent.
func (h *hub) wake(key wire.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.waiting[key] {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// anybody reports whether any request is waiting.
func (h *hub) anybody() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waiting) > 0
}

// inTurn serializes operations, separately for each agent.
type inTurn struct {
	mu   sync.Mutex
	line map[wire.Key]*turn
}

type turn struct {
	free    chan struct{} // contains a value while the turn is free
	waiting int           // the number of callers that wait for the turn or have it
}

// take waits for the turn of an agent. end releases the turn, and is never nil. The error is that of ctx.
func (t *inTurn) take(ctx context.Context, key wire.Key) (end func(), err error) {
	t.mu.Lock()
	if t.line == nil {
		t.line = map[wire.Key]*turn{}
	}
	own := t.line[key]
	if own == nil {
		own = &turn{free: make(chan struct{}, 1)}
		own.free <- struct{}{}
		t.line[key] = own
	}
	own.waiting++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.waiting--; own.waiting == 0 {
			delete(t.line, key)
		}
	}
	select {
	case <-own.free:
		return sync.OnceFunc(func() { own.free <- struct{}{}; leave() }), nil
	case <-ctx.Done():
		leave()
		return func() {}, ctx.Err()
	}
}
