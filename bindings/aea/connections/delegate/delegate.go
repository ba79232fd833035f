// Package delegate is the connection for agents that come over TLS, as to a node of the agent communication network that represents them:
// the framework's connection p2p_libp2p_client. The node proves that the certificate is its own; the agent registers, and proves with the
// key of its address that the node may represent it; then both send each other envelopes, one at a time, and acknowledge each with a
// status.
//
// An envelope that an agent has not acknowledged when its connection ends is sent again, once, when the agent comes back; it and those
// that wait behind it are kept for five minutes. An agent that connects twice is served on the later connection, and the other one is
// closed.
//
// An agent that gets a failure connects again, sends once more, and then gives up. So every readable envelope is answered with success,
// even one that is dropped; problems of a message are reported in its dialogue. There are two exceptions. An envelope to be relayed to an
// agent that is not connected is answered with status 20. An address whose agents register more than 30 times a minute is answered with
// status 3.
package delegate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/connections/internal/socket"
	"github.com/uimgate/uimgate/bindings/aea/node"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/acn"
)

// ID names the connection.
var ID = wire.PublicID{Author: "uimgate", Name: "delegate", Version: "1.0.0"}

// patience is how long an envelope waits for room in the InBox. Agents wait five seconds for the status.
const patience = 4 * time.Second

// Bounds are those of connections at once.
type Bounds = socket.Bounds

// A Connection listens for agents.
type Connection struct {
	node     *node.Node
	listener *socket.Listener
	peers    socket.ReturningPeers
	asking   *socket.RegistrationLimit
}

// Listen opens the connection at host:port; without a host it is that of this machine alone. An error is one of the network.
func Listen(ctx context.Context, address string, n *node.Node, b Bounds, now func() time.Time) (*Connection, error) {
	l, err := socket.Listen(ctx, address, b)
	if err != nil {
		return nil, err
	}
	return &Connection{node: n, listener: l, asking: socket.NewRegistering(now)}, nil
}

// ID is the package's ID.
func (c *Connection) ID() wire.PublicID { return ID }

// Address is the one that was bound, host:port.
func (c *Connection) Address() string { return c.listener.Address() }

// Close ends a connection that was never run.
func (c *Connection) Close() error { return c.listener.Close() }

// Confidential is true: TLS, to an agent that has the key of its address.
func (c *Connection) Confidential() bool { return true }

// Send puts an envelope into the queue of its receiver, which has registered, and may have left for a while.
func (c *Connection) Send(e wire.Envelope) error { return c.peers.Send(e) }

// State returns the present state of the connection.
func (c *Connection) State() runtime.ConnectionState {
	peers, queued := c.peers.Count()
	return runtime.ConnectionState{Listening: c.Address(), Peers: peers, Queued: queued}
}

// Run serves agents until ctx ends.
func (c *Connection) Run(ctx context.Context, port *runtime.Port) error {
	defer c.peers.Close()
	defer c.asking.Close()
	config := c.node.TLS()
	return c.listener.Serve(ctx, port, func(ctx context.Context, raw net.Conn) {
		secure := tls.Server(raw, config)
		conn := c.listener.NewConn(ctx, secure, wire.ACN, port)
		if secure.HandshakeContext(ctx) != nil { // strangers, and agents that only fetch the certificate
			return
		}
		c.serve(ctx, conn, port)
	})
}

// Errors that operators see.
var (
	errRegister = errors.New("an agent did not register as it should")
	errTooMany  = errors.New("agents of one address registered too often")
	errSender   = errors.New("an envelope of another sender than the one that registered")
	errPayload  = errors.New("a message that agents do not send")
	errStatus   = errors.New("an agent did not acknowledge an envelope")
)

// serve serves one agent.
func (c *Connection) serve(ctx context.Context, conn *socket.Conn, port *runtime.Port) {
	address, ok := c.register(conn, port)
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := func() {
		cancel()
		_ = conn.Close() // so that reading and writing end
	}
	queue, leave := c.peers.Enter(address, port, end)
	defer leave()
	a := &agent{conn: conn, address: address, port: port, acknowledged: make(chan acn.Code, 1), patience: c.listener.Bounds.Write}
	var writing sync.WaitGroup
	defer writing.Wait()
	defer end()
	if conn.Answer(status(acn.Success)) != nil {
		return
	}
	conn.Greeted()
	conn.Keep()
	writing.Go(func() {
		defer end()
		a.write(ctx, queue)
	})
	a.read(ctx)
}

// register proves the identity of the node, and registers the agent. It returns ok if the agent should be notified.
func (c *Connection) register(conn *socket.Conn, port *runtime.Port) (address string, ok bool) {
	if conn.Answer(c.node.Proof()) != nil {
		return "", false
	}
	frame, err := conn.Greet(maxRegister)
	if err != nil {
		if !socket.IsEnd(err) { // who only wanted the proof, or the certificate, leaves
			port.Refused(errRegister)
		}
		return "", false
	}
	if !c.asking.Admit(conn.RemoteAddr().String()) { // before anything is verified
		port.Refused(errTooMany)
		_ = conn.Answer(status(acn.Generic))
		return "", false
	}
	m, err := acn.Decode(frame)
	code := acn.UnexpectedPayload
	switch {
	case err != nil:
		code = acn.Undecodable
	case m.Kind == acn.Register && m.Record != nil:
		code = c.node.Register(*m.Record)
	}
	if code != acn.Success {
		port.Refused(fmt.Errorf("%w: status %d", errRegister, code))
		_ = conn.Answer(status(code)) // it is closed then
		return "", false
	}
	return m.Record.Address, true
}

// maxRegister bounds the registration message of an agent: eight texts.
const maxRegister = 8*(acn.MaxText+4) + 16

// An agent is one that has registered.
type agent struct {
	conn         *socket.Conn
	address      string
	port         *runtime.Port
	acknowledged chan acn.Code // what it answered to the envelope that was sent last
	patience     time.Duration // for that answer
}

// read takes what the agent sends, until the connection is closed.
func (a *agent) read(ctx context.Context) {
	for {
		frame, done, skipped, err := a.conn.Read(ctx)
		switch {
		case skipped:
			err = a.refuse(ctx, acn.Undecodable, err)
		case err == nil:
			err = a.take(ctx, frame)
		case !socket.IsEnd(err):
			a.port.Refused(fmt.Errorf("reading a frame: %w", err))
		}
		done()
		if err != nil {
			return
		}
	}
}

// take takes one frame. An error is one of writing.
func (a *agent) take(ctx context.Context, frame []byte) error {
	m, err := acn.Decode(frame)
	if err != nil {
		return a.refuse(ctx, acn.Undecodable, err)
	}
	switch m.Kind {
	case acn.Status:
		select {
		case a.acknowledged <- m.Code:
		default: // nothing was sent that it could be about
			a.port.Refused(errPayload)
		}
		return nil
	case acn.Envelope:
		return a.envelope(ctx, m.Envelope)
	case acn.LookupRequest:
		return a.answer(ctx, acn.UnknownAgentAddress)
	default:
		return a.refuse(ctx, acn.UnexpectedPayload, errPayload)
	}
}

func (a *agent) envelope(ctx context.Context, data []byte) error {
	e, err := wire.DecodeEnvelope(data)
	switch {
	case err != nil:
		return a.refuse(ctx, acn.Undecodable, err)
	case e.Sender != a.address:
		return a.refuse(ctx, acn.WrongAgentAddress, errSender)
	}
	a.conn.Keep()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch err := a.port.Receive(waiting, e); {
	case errors.Is(err, runtime.ErrNoPeer):
		return a.answer(ctx, acn.UnknownAgentAddress)
	case err != nil:
		return a.answer(ctx, acn.AgentNotReady) // it was not taken: the agent may send it again
	}
	return a.answer(ctx, acn.Success)
}

func (a *agent) refuse(ctx context.Context, code acn.Code, err error) error {
	a.port.Refused(err)
	return a.answer(ctx, code)
}

func (a *agent) answer(ctx context.Context, code acn.Code) error {
	return a.conn.Write(ctx, status(code))
}

func status(code acn.Code) []byte { return acn.Message{Kind: acn.Status, Code: code}.Encode() }

// write sends what waits, one envelope after the other has been acknowledged, until ctx ends or the agent takes nothing any more.
func (a *agent) write(ctx context.Context, queue *runtime.Queue) {
	for {
		e, done, err := queue.Take(ctx)
		if err != nil {
			return
		}
		code, err := a.send(ctx, e)
		if err != nil {
			if !queue.Back(e) {
				a.port.Dropped(1, err)
			}
			return
		}
		done()
		switch {
		case code != acn.Success:
			a.port.Dropped(1, fmt.Errorf("%w: status %d", errStatus, code))
		default:
			a.port.Sent()
		}
	}
}

// send sends an envelope, and waits for its status.
func (a *agent) send(ctx context.Context, e wire.Envelope) (acn.Code, error) {
	data, err := e.Encode()
	if err != nil {
		return 0, err
	}
	select {
	case <-a.acknowledged: // an unexpected acknowledgement
	default:
	}
	if err := a.conn.Write(ctx, acn.Message{Kind: acn.Envelope, Envelope: data}.Encode()); err != nil {
		return 0, err
	}
	timeout := time.NewTimer(a.patience)
	defer timeout.Stop()
	select {
	case code := <-a.acknowledged:
		return code, nil
	case <-timeout.C:
		return 0, errStatus
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
