package runtime

import (
	"sync"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// A SendQueue is the only queue of a connection that has one peer, or that treats all peers alike. It is open while the connection runs.
// The zero value is closed. It is safe for concurrent use.
type SendQueue struct {
	mu    sync.Mutex
	queue *Queue // nil: the connection is down
}

// Open opens and returns a new queue. Connection.Run calls it.
func (o *SendQueue) Open(port *Port) *Queue {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = port.Queue()
	return o.queue
}

// Put appends an envelope. Errors are ErrFull and ErrDown.
func (o *SendQueue) Put(e wire.Envelope) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.queue == nil {
		return ErrDown
	}
	return o.queue.Put(e)
}

// Len returns the number of queued envelopes, and whether the queue is open.
func (o *SendQueue) Len() (n int, open bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.queue == nil {
		return 0, false
	}
	return o.queue.Len(), true
}

// Close closes the queue and drops the queued envelopes. cause is the reason that is recorded for operators. The queue must be open.
func (o *SendQueue) Close(port *Port, cause error) {
	o.mu.Lock()
	queue := o.queue
	o.queue = nil
	o.mu.Unlock()
	port.Dropped(queue.Close(), cause)
}
