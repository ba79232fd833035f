package relay

import (
	"container/list"
	"sync"
)

// A socketLimit bounds the open WebSockets. Unauthenticated ones are closed in favour of new ones, the oldest first, so that silent
// clients keep no agent out.
type socketLimit struct {
	most int

	mu       sync.Mutex
	open     int
	unsigned list.List // of *openSocket
}

// An openSocket is a WebSocket under a socketLimit.
type openSocket struct {
	in    *socketLimit
	evict func()        // closes it; it does not block
	place *list.Element // nil once it is authenticated
	gone  bool
}

// enter counts a WebSocket; nil if there is no space for it.
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

// known records the agent of the WebSocket, which is then not closed for others. It returns false if it was just closed.
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

// forget removes it from the count, once.
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
