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

// A Connection is what the Multiplexer sees of one Channel: its name, and who can read what it sends. It is safe for concurrent use.
type Connection interface {
	Channel
	// ID identifies the connection in routing and in EnvelopeContext.
	ID() wire.PublicID
	// Confidential reports whether only the peer can read envelopes sent to it.
	Confidential() bool
}

// A Channel is the part of a Connection that translates between envelopes and an external service: sockets, files, HTTP, or other agents.
// It is safe for concurrent use.
type Channel interface {
	// Run serves the channel until ctx ends, and then ends everything that it has started. It passes received envelopes to port. If it
	// returns before ctx ends, it is called again after a pause.
	Run(ctx context.Context, port *Port) error
	// Send queues an envelope without waiting for the peer. Errors are ErrNoPeer, ErrFull, wire.ErrUnsendable and ErrDown. The connection
	// later reports the outcome to the port.
	Send(e wire.Envelope) error
	// State returns the current state of the channel.
	State() ConnectionState
}

// A ConnectionState is the state that a Channel reports.
type ConnectionState struct {
	Listening string `json:"listening,omitempty"` // the address that agents connect to, or the directory
	Peers     int    `json:"peers"`
	Queued    int    `json:"queued"` // envelopes
}

// ConnectionOptions restricts the use of a connection. It names protocols by their specification ids.
type ConnectionOptions struct {
	// If Restricted is not empty, only these protocols are sent. The protocols in Excluded are not sent.
	Restricted, Excluded []wire.PublicID
	// Inside means that skills use the connection, component to component, and agents do not.
	Inside bool
	// Relay means that agents on this connection may send messages to agents on all connections with Relay. The connection must authenticate
	// the agents.
	Relay bool
}

// A Port connects one connection to the mailbox, and receives the reports of the connection.
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

// Receive puts an envelope into the InBox, and waits until there is space. It counts and drops envelopes that this agent does not serve:
// those for other agents, and those from outside for a component. If the error is that of ctx or ErrStopped, the envelope was not
// accepted. If the error is ErrNoPeer, the connection relays, but the receiver is not connected; the connection must then notify the
// sender, with a status of its protocol or with NotConnected.
func (p *Port) Receive(ctx context.Context, e wire.Envelope) error {
	return p.m.receive(ctx, p, e, EnvelopeContext{})
}

// ReceiveOf is like Receive, for a peer that has proved its address. queue is the queue of the peer, which is closed when the peer leaves.
func (p *Port) ReceiveOf(ctx context.Context, e wire.Envelope, queue *Queue) error {
	return p.m.receive(ctx, p, e, EnvelopeContext{peer: queue})
}

// ReceiveFrom is like Receive, for a peer that does not prove its address. Replies to the envelope go only into the queue back of this
// peer, and not to other peers that claim the same address.
func (p *Port) ReceiveFrom(ctx context.Context, e wire.Envelope, back *Queue) error {
	return p.m.receive(ctx, p, e, EnvelopeContext{back: back, peer: back})
}

// NotConnected sends an error of the default protocol to the sender of e, because the receiver is not connected. It is for connections
// whose protocol has no status for this case.
func (p *Port) NotConnected(e wire.Envelope) {
	p.m.relay.refuse(p, e, "The receiver is not connected.")
}

// Queue returns a new queue for a peer, within the limits of the OutBox. The caller must close it with Close.
func (p *Port) Queue() *Queue { return p.m.box.OutBox.Queue() }

// Deliver passes the envelopes of a queue to send, one at a time, and counts the outcomes, until ctx ends or the queue is closed. An
// envelope takes space in the queue until send returns.
func (p *Port) Deliver(ctx context.Context, queue *Queue, send func(context.Context, wire.Envelope) error) {
	for ctx.Err() == nil {
		e, done, err := queue.Take(ctx)
		if err != nil {
			return
		}
		if err = send(ctx, e); err != nil {
			p.Dropped(1, err)
		} else {
			p.Sent()
		}
		done()
	}
}

// Now returns the time of the runtime's clock.
func (p *Port) Now() time.Time { return p.m.now() }

// Sent counts an envelope that was sent.
func (p *Port) Sent() { p.sent.Add(1) }

// Refused counts input that is not an envelope for this connection, and records err as the last error. Operators see err, so its text must
// not contain any of the input.
func (p *Port) Refused(err error) {
	p.refused.Add(1)
	p.Failed(err)
}

// Dropped counts n accepted envelopes that were not sent, and records err as the last error. It does nothing if n is 0.
func (p *Port) Dropped(n int, err error) {
	if n > 0 {
		p.dropped.Add(uint64(n))
		p.Failed(err)
	}
}

// maxErrorText limits the text of an error for operators, in characters.
const maxErrorText = 200

// Failed records err as the last error of the connection, for operators. It does nothing if err is nil.
func (p *Port) Failed(err error) {
	if err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastErr, p.lastAt = lines.Printable(err.Error(), maxErrorText), p.m.now()
}
