package relay

import (
	"container/list"
	"sync"
)

// An entrance bounds the open WebSockets. Those without a signature make room for others, the oldest first: so silent strangers keep no
// agent out.
type entrance struct {
	most int

	mu        sync.Mutex
	open      int
	strangers list.List // of *visitor
}

// A visitor is a WebSocket in the entrance.
type visitor struct {
	in    *entrance
	evict func()        // ends it; it does not wait
	place *list.Element // nil once it is known
	gone  bool
}

// enter counts a WebSocket; nil where there is no room for it.
func (e *entrance) enter(evict func()) *visitor {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open >= e.most {
		oldest := e.strangers.Front()
		if oldest == nil {
			return nil
		}
		if v, is := oldest.Value.(*visitor); is {
			v.forget()
			v.evict()
		}
	}
	v := &visitor{in: e, evict: evict}
	v.place = e.strangers.PushBack(v)
	e.open++
	return v
}

// known records the agent of the WebSocket, which then does not make room for others any more. It returns false if it just has.
func (v *visitor) known() bool {
	v.in.mu.Lock()
	defer v.in.mu.Unlock()
	if v.gone {
		return false
	}
	v.in.strangers.Remove(v.place)
	v.place = nil
	return true
}

// leave makes room.
func (v *visitor) leave() {
	v.in.mu.Lock()
	defer v.in.mu.Unlock()
	v.forget()
}

// forget removes it from the count, once.
func (v *visitor) forget() {
	if v.gone {
		return
	}
	v.gone = true
	v.in.open--
	if v.place != nil {
		v.in.strangers.Remove(v.place)
	}
}
