package socket

import (
	"container/list"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// away is how long queued envelopes are kept for a disconnected peer, and maxAway limits the number of disconnected peers.
const (
	away    = 5 * time.Minute
	maxAway = 4096
)

// ReturningPeers holds, by address, the peers that have proved their address. If a peer connects again, its earlier connection is closed,
// and the new connection receives the queued envelopes. This also works after an absence of at most away. The zero value is empty and
// ready to use.
type ReturningPeers struct {
	mu    sync.Mutex
	port  *runtime.Port
	peers map[string]*returningPeer
	left  list.List // of *returningPeer, earliest disconnected first
}

type returningPeer struct {
	address string
	queue   *runtime.Queue
	session *session      // nil: disconnected
	at      time.Time     // when it disconnected
	place   *list.Element // in left
}

type session struct {
	end  func()
	gone chan struct{} // closed when the session has ended
}

// Enter adds a connected peer and returns its queue. end is called when another connection replaces this one; Enter then waits until the
// replaced connection has called leave. The caller must call leave when it takes no more envelopes.
func (r *ReturningPeers) Enter(address string, port *runtime.Port, end func()) (queue *runtime.Queue, leave func()) {
	me := &session{end, make(chan struct{})}
	r.mu.Lock()
	if r.peers == nil {
		r.peers = map[string]*returningPeer{}
	}
	r.port = port
	r.expire()
	one := r.peers[address]
	if one == nil {
		one = &returningPeer{address: address, queue: port.Queue()}
		r.peers[address] = one
	}
	before := one.session
	one.session = me
	r.stay(one)
	r.mu.Unlock()
	if before != nil {
		before.end()
		<-before.gone
	}
	return one.queue, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(me.gone)
		if one.session == me {
			one.session, one.at = nil, port.Now()
			one.place = r.left.PushBack(one)
			r.expire()
		}
	}
}

// stay removes a peer from the list of disconnected peers.
func (r *ReturningPeers) stay(one *returningPeer) {
	if one.place != nil {
		r.left.Remove(one.place)
		one.place = nil
	}
}

// expire removes peers that disconnected too long ago. If there are too many disconnected peers, it removes the earliest ones.
func (r *ReturningPeers) expire() {
	for e := r.left.Front(); e != nil; e = r.left.Front() {
		one, _ := e.Value.(*returningPeer)
		if r.left.Len() <= maxAway && r.port.Now().Sub(one.at) < away {
			return
		}
		r.forget(one)
	}
}

func (r *ReturningPeers) forget(one *returningPeer) {
	r.stay(one)
	delete(r.peers, one.address)
	r.port.Dropped(one.queue.Close(), runtime.ErrNoPeer)
}

// Close removes all peers.
func (r *ReturningPeers) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.peers {
		r.forget(one)
	}
}

// Send queues an envelope for its receiver. It returns runtime.ErrNoPeer or runtime.ErrFull.
func (r *ReturningPeers) Send(e wire.Envelope) error {
	r.mu.Lock()
	if r.port != nil {
		r.expire()
	}
	one := r.peers[e.To]
	r.mu.Unlock()
	if one == nil {
		return runtime.ErrNoPeer
	}
	return one.queue.Put(e)
}

// Count returns the number of connected peers, and the number of envelopes that are queued for connected and disconnected peers.
func (r *ReturningPeers) Count() (peers, queued int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.peers {
		queued += one.queue.Len()
	}
	return len(r.peers) - r.left.Len(), queued
}
