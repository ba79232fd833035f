package socket

import (
	"sync"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// Peers holds the queues of the connected peers, by address. The zero value is empty and ready to use.
type Peers struct {
	mu     sync.Mutex
	queues map[string]*runtime.Queue
}

// Enter adds a connected peer and returns its queue. If another peer has the same address, envelopes go to the new peer from now on. The
// caller must call leave when the peer disconnects.
func (p *Peers) Enter(address string, port *runtime.Port) (queue *runtime.Queue, leave func()) {
	queue = port.Queue()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queues == nil {
		p.queues = map[string]*runtime.Queue{}
	}
	p.queues[address] = queue
	return queue, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.queues[address] == queue {
			delete(p.queues, address)
		}
		port.Dropped(queue.Close(), runtime.ErrNoPeer)
	}
}

// Send queues an envelope for its receiver. It returns runtime.ErrNoPeer or runtime.ErrFull.
func (p *Peers) Send(e wire.Envelope) error {
	p.mu.Lock()
	queue := p.queues[e.To]
	p.mu.Unlock()
	if queue == nil {
		return runtime.ErrNoPeer
	}
	return queue.Put(e)
}

// Count returns the number of peers and of queued envelopes.
func (p *Peers) Count() (peers, queued int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.queues {
		queued += q.Len()
	}
	return len(p.queues), queued
}
