package relay

import (
	"container/list"
	"sync"
)

// An entrance bounds the WebSockets that are open at once. Those on which nobody has signed yet make room for others, the oldest first:
// so strangers who say nothing keep nobody out.
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

// known says whose the WebSocket is: it does not make room for others any more. It is false where it just has.
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

// forget takes it out of the count, once.
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
