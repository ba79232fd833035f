package relay

import (
	"container/list"
	"sync"
)

// A socketLimit bounds the open WebSockets. Those without a signature make room for others, the oldest first: so silent strangers keep no
// agent out.
type socketLimit struct {
	most int

	mu       sync.Mutex
	open     int
	unsigned list.List // of *openSocket
}

// An openSocket is a WebSocket under a socketLimit.
type openSocket struct {
	in    *socketLimit
	evict func()        // ends it; it does not wait
	place *list.Element // nil once it is known
	gone  bool
}

// enter counts a WebSocket; nil where there is no room for it.
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

// known records the agent of the WebSocket, which then does not make room for others any more. It returns false if it just has.
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

// leave makes room.
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
