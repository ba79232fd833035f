package runtime

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/internal/lines"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// ErrNoPeer means that no peer with the address of the receiver is connected.
var ErrNoPeer = errors.New("no peer with this address is connected")

// A Connection receives and sends envelopes. It is safe for concurrent use.
type Connection interface {
	// ID names the connection in routing and in EnvelopeContext.
	ID() wire.PublicID
	// Run serves the connection until ctx ends, and then ends everything that it has started. It passes received envelopes to port. If it
	// returns an error earlier, it is called again after a while.
	Run(ctx context.Context, port *Port) error
	// Send queues an envelope and does not wait for the peer. Errors are ErrNoPeer, ErrFull, wire.ErrUnsendable and ErrDown. The
	// connection reports the outcome to the port.
	Send(e wire.Envelope) error
	// Confidential reports whether only the peer can read envelopes sent to it.
	Confidential() bool
	// State returns the present state of the connection.
	State() ConnectionState
}

// A ConnectionState is a connection's report about itself.
type ConnectionState struct {
	Listening string `json:"listening,omitempty"` // the address that agents connect to, or the directory
	Peers     int    `json:"peers"`
	Queued    int    `json:"queued"` // queued envelopes
}

// ConnectionOptions restrict the use of a connection. Protocols are named by their specification ids.
type ConnectionOptions struct {
	// Restricted, if not empty, are the only protocols that are sent; Excluded are those that are not sent.
	Restricted, Excluded []wire.PublicID
	// Inside: the connection serves skills, component to component, and no agent uses it.
	Inside bool
	// Relay: agents on this connection and others with Relay may write to each other. The connection must authenticate them.
	Relay bool
}

// A Port connects one connection to the mailbox, and receives its reports.
type Port struct {
	m          *Multiplexer
	connection Connection
	options    ConnectionOptions
	confidence bool

	up                      atomic.Bool
	received, refused       atomic.Uint64
	sent, dropped, restarts atomic.Uint64

	mu      sync.Mutex
	lastErr string
	lastAt  time.Time
}

// Receive puts an envelope into the InBox, and waits until there is space. It drops and counts envelopes that this agent does not serve:
// those for other agents, and those for components that come from outside. If the error is that of ctx or ErrStopped, the envelope was
// not accepted. If it is ErrNoPeer, the connection relays and the receiver is not connected; the connection must then notify the sender,
// by its protocol or by NotConnected.
func (p *Port) Receive(ctx context.Context, e wire.Envelope) error {
	return p.m.receive(ctx, p, e, nil)
}

// ReceiveFrom is Receive for a peer that does not prove its address: replies to the envelope go only into its own queue, and not to other
// peers that claim the address.
func (p *Port) ReceiveFrom(ctx context.Context, e wire.Envelope, back *Queue) error {
	return p.m.receive(ctx, p, e, back)
}

// NotConnected notifies the sender of an envelope that its receiver is not connected, by an error of the protocol default. It is for
// connections whose protocol has no status for this case.
func (p *Port) NotConnected(e wire.Envelope) {
	p.m.relay.refuse(p, e, "The receiver is not connected.")
}

// Queue makes a queue for a peer, within the bounds of the OutBox.
func (p *Port) Queue() *Queue { return p.m.box.OutBox.Queue() }

// Now returns the time of the runtime's clock.
func (p *Port) Now() time.Time { return p.m.now() }

// Sent counts an envelope that has left.
func (p *Port) Sent() { p.sent.Add(1) }

// Refused counts input that is not an envelope for this connection. Operators see err, whose text must not contain any of the input.
func (p *Port) Refused(err error) {
	p.refused.Add(1)
	p.Failed(err)
}

// Dropped counts accepted envelopes that were not sent.
func (p *Port) Dropped(n int, err error) {
	if n > 0 {
		p.dropped.Add(uint64(n))
		p.Failed(err)
	}
}

// maxErrorText bounds the text of an error for operators, in characters.
const maxErrorText = 200

// Failed records the last error for operators.
func (p *Port) Failed(err error) {
	if err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastErr, p.lastAt = lines.Printable(err.Error(), maxErrorText), p.m.now()
}
