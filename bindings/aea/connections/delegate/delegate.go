// Package delegate is the connection for agents over TLS. Agents use the framework's connection p2p_libp2p_client to a node of the agent
// communication network, which represents them. First the node proves that the certificate is its own. Then the agent registers, and proves
// with the key of its address that the node may represent the agent. After that, each side sends envelopes to the other, one at a time, and
// the other acknowledges each with a status.
//
// If a connection ends before the agent has acknowledged an envelope, the envelope is sent once more when the agent returns. This
// envelope and those queued behind it are kept for five minutes. If an agent connects twice, the earlier connection is closed.
//
// An agent that gets a failure reconnects, sends the envelope once more, and then gives up. Therefore every accepted envelope is
// acknowledged with success, even one that is dropped; problems with a message are reported in its dialogue. An envelope that cannot be
// queued in time gets status 21, and one to be relayed to an agent that is not connected gets status 20. Agents that register more than
// 30 times a minute from one IP address get status 3.
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

// ID is the public id of the connection.
var ID = wire.PublicID{Author: "uimgate", Name: "delegate", Version: "1.0.0"}

// patience is how long an envelope waits for space in the InBox. Agents wait five seconds for the status.
const patience = 4 * time.Second

// Bounds limits the agents' connections.
type Bounds = socket.Bounds

// A Connection listens for agents.
type Connection struct {
	*socket.Listener

	node   *node.Node
	peers  socket.ReturningPeers
	asking *socket.RegistrationLimit
}

// Listen opens the connection at host:port; the default host is the loopback address. Errors are those of the network.
func Listen(ctx context.Context, address string, n *node.Node, b Bounds, now func() time.Time) (*Connection, error) {
	l, err := socket.Listen(ctx, address, b)
	if err != nil {
		return nil, err
	}
	return &Connection{node: n, Listener: l, asking: socket.NewRegistering(now)}, nil
}

// ID returns the public id of the connection.
func (c *Connection) ID() wire.PublicID { return ID }

// Confidential returns true: the agents use TLS, and have proved that they have the keys of their addresses.
func (c *Connection) Confidential() bool { return true }

// Send queues an envelope for its receiver, which must have registered. The receiver may have been disconnected for up to five minutes.
func (c *Connection) Send(e wire.Envelope) error { return c.peers.Send(e) }

// State returns the current state of the connection.
func (c *Connection) State() runtime.ConnectionState {
	peers, queued := c.peers.Count()
	return runtime.ConnectionState{Listening: c.Address(), Peers: peers, Queued: queued}
}

// Run serves agents until ctx ends.
func (c *Connection) Run(ctx context.Context, port *runtime.Port) error {
	defer c.peers.Close()
	defer c.asking.Close()
	config := c.node.TLS()
	return c.Serve(ctx, port, func(ctx context.Context, raw net.Conn) {
		secure := tls.Server(raw, config)
		conn := c.NewConn(ctx, secure, wire.ACN, port)
		if secure.HandshakeContext(ctx) != nil { // unauthenticated clients, and agents that only fetch the certificate
			return
		}
		c.serve(ctx, conn, port)
	})
}

// Errors that operators see.
var (
	errRegister = errors.New("an agent sent an invalid registration")
	errTooMany  = errors.New("agents of one IP address registered too often")
	errSender   = errors.New("the sender of an envelope is not the registered agent")
	errPayload  = errors.New("an agent sent an unexpected message")
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
	a := &agent{
		conn: conn, address: address, port: port, queue: queue, acknowledged: make(chan acn.Code, 1), patience: c.Bounds.Write,
	}
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

// register proves the identity of the node, and registers the agent. If ok is true, the caller must acknowledge the registration.
func (c *Connection) register(conn *socket.Conn, port *runtime.Port) (address string, ok bool) {
	if conn.Answer(c.node.Proof()) != nil {
		return "", false
	}
	frame, err := conn.Greet(maxRegister)
	if err != nil {
		if !socket.IsEnd(err) { // clients that need only the proof or the certificate disconnect
			port.Refused(errRegister)
		}
		return "", false
	}
	if !c.asking.Admit(conn.RemoteAddr().String()) { // before any verification
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
		_ = conn.Answer(status(code)) // the connection is then closed
		return "", false
	}
	return m.Record.Address, true
}

// maxRegister is the maximum length in bytes of the registration message of an agent, which contains eight strings.
const maxRegister = 8*(acn.MaxText+4) + 16

// An agent is a registered agent.
type agent struct {
	conn         *socket.Conn
	address      string
	port         *runtime.Port
	queue        *runtime.Queue
	acknowledged chan acn.Code // has the status of the last sent envelope
	patience     time.Duration // how long to wait for that status
}

// read reads the agent's frames until the connection is closed.
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

// take processes one frame. It returns an error if the response cannot be written.
func (a *agent) take(ctx context.Context, frame []byte) error {
	m, err := acn.Decode(frame)
	if err != nil {
		return a.refuse(ctx, acn.Undecodable, err)
	}
	switch m.Kind {
	case acn.Status:
		select {
		case a.acknowledged <- m.Code:
		default: // no sent envelope awaits an acknowledgement
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
	switch err := a.port.ReceiveOf(waiting, e, a.queue); {
	case errors.Is(err, runtime.ErrNoPeer):
		return a.answer(ctx, acn.UnknownAgentAddress)
	case err != nil:
		return a.answer(ctx, acn.AgentNotReady) // not accepted: the agent may send the envelope again
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

// write sends queued envelopes, each after the previous one was acknowledged, until ctx ends or the agent stops reading.
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

// send sends an envelope and waits for its status.
func (a *agent) send(ctx context.Context, e wire.Envelope) (acn.Code, error) {
	data, err := e.Encode()
	if err != nil {
		return 0, err
	}
	select {
	case <-a.acknowledged: // discard an unexpected acknowledgement
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
