package runtime

import (
	"container/list"
	"sync"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// routes maps each peer to the connection of its last envelope. If there are too many peers, the peer that has been silent longest is
// removed. Entries expire after age.
type routes struct {
	most int
	age  time.Duration

	mu     sync.Mutex
	byPeer map[string]*list.Element
	silent list.List // of *route, longest silent first
}

type route struct {
	peer       string
	connection wire.PublicID
	at         time.Time
}

func newRoutes(maxPeers int, age time.Duration) *routes {
	return &routes{most: maxPeers, age: age, byPeer: map[string]*list.Element{}}
}

func (r *routes) set(peer string, connection wire.PublicID, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.byPeer[peer]; known != nil {
		r.forget(known)
	}
	r.byPeer[peer] = r.silent.PushBack(&route{peer, connection, now})
	for first := r.silent.Front(); first != nil; first = r.silent.Front() {
		if oldest, _ := first.Value.(*route); len(r.byPeer) <= r.most && now.Sub(oldest.at) < r.age {
			return
		}
		r.forget(first)
	}
}

// get returns the connection of a peer, or the zero PublicID if the peer has no entry or its entry has expired.
func (r *routes) get(peer string, now time.Time) wire.PublicID {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.byPeer[peer]
	if known == nil {
		return wire.PublicID{}
	}
	of, _ := known.Value.(*route)
	if now.Sub(of.at) >= r.age {
		r.forget(known)
		return wire.PublicID{}
	}
	return of.connection
}

func (r *routes) forget(e *list.Element) {
	if of, ok := r.silent.Remove(e).(*route); ok {
		delete(r.byPeer, of.peer)
	}
}

func (r *routes) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byPeer)
}
