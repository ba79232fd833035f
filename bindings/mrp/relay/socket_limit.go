package relay

import (
	"container/list"
	"sync"
)

// A socketLimit limits the number of open WebSockets. When the limit is reached, the oldest unauthenticated WebSocket is closed to make
// room for a new one, so that silent clients cannot keep agents out.
type socketLimit struct {
	most int

	mu       sync.Mutex
	open     int
	unsigned list.List // of *openSocket
}

// An openSocket is a WebSocket under a socketLimit.
type openSocket struct {
	in    *socketLimit
	evict func()        // closes the WebSocket without blocking
	place *list.Element // nil once the WebSocket is authenticated
	gone  bool
}

// enter counts a WebSocket. It returns nil if the limit is reached and all WebSockets are authenticated.
func (e *socketLimit) enter(evict func()) *openSocket {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open >= e.most {
		oldest := e.unsigned.Front()
		if oldest == nil {
			return nil
		}
		if v, is := oldest.Value.(*openSocket); is {
			v.forget()
			v.evict()
		}
	}
	v := &openSocket{in: e, evict: evict}
	v.place = e.unsigned.PushBack(v)
	e.open++
	return v
}

// known marks the WebSocket as authenticated, so that it is no longer closed to make room. It returns false if the WebSocket has already
// been closed.
func (v *openSocket) known() bool {
	v.in.mu.Lock()
	defer v.in.mu.Unlock()
	if v.gone {
		return false
	}
	v.in.unsigned.Remove(v.place)
	v.place = nil
	return true
}

// leave removes the WebSocket.
func (v *openSocket) leave() {
	v.in.mu.Lock()
	defer v.in.mu.Unlock()
	v.forget()
}

// forget removes the WebSocket from the count, unless it has already been removed.
func (v *openSocket) forget() {
	if v.gone {
		return
	}
	v.gone = true
	v.in.open--
	if v.place != nil {
		v.in.unsigned.Remove(v.place)
	}
}
