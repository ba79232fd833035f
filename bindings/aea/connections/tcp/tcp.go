// Package tcp is the connection for agents over plain TCP. Agents use the framework's connection fetchai/tcp: an agent sends a frame with
// its address, and then both sides send a frame for each envelope.
//
// The address is not proven, and anyone on the network path can read the traffic. Therefore the connection listens on the loopback address
// unless another address is configured. An agent on this connection has only the address that it announced first: envelopes from other
// senders are dropped, and replies to the envelopes of an agent go only to that agent.
//
// Agents stop when their network connection is closed, so it stays open after malformed frames. It is closed only if a frame takes too long
// or announces more than 64 MiB.
package tcp

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/uimgate/uimgate/bindings/aea/connections/internal/socket"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// ID is the public id of the connection.
var ID = wire.PublicID{Author: "uimgate", Name: "tcp", Version: "1.0.0"}

// Bounds limits the agents' connections.
type Bounds = socket.Bounds

// A Connection listens for agents.
type Connection struct {
	*socket.Listener

	peers socket.Peers
}

// Listen opens the connection at host:port; the default host is the loopback address. Errors are those of the network.
func Listen(ctx context.Context, address string, b Bounds) (*Connection, error) {
	l, err := socket.Listen(ctx, address, b)
	if err != nil {
		return nil, err
	}
	return &Connection{Listener: l}, nil
}

// ID returns the public id of the connection.
func (c *Connection) ID() wire.PublicID { return ID }

// Confidential reports whether only this machine can connect.
func (c *Connection) Confidential() bool { return c.Local() }

// Send queues an envelope for the agent that announced the address of the receiver last.
func (c *Connection) Send(e wire.Envelope) error { return c.peers.Send(e) }

// State returns the current state of the connection.
func (c *Connection) State() runtime.ConnectionState {
	peers, queued := c.peers.Count()
	return runtime.ConnectionState{Listening: c.Address(), Peers: peers, Queued: queued}
}

// Run serves agents until ctx ends.
func (c *Connection) Run(ctx context.Context, port *runtime.Port) error {
	return c.Serve(ctx, port, func(ctx context.Context, conn net.Conn) {
		c.serve(ctx, c.NewConn(ctx, conn, wire.TCP, port), port)
	})
}

// Errors that operators see.
var (
	errAddress = errors.New("the first frame is not the address of an agent")
	errSender  = errors.New("the sender of an envelope is not the announced address")
)

// serve serves one agent.
func (c *Connection) serve(ctx context.Context, conn *socket.Conn, port *runtime.Port) {
	hello, err := conn.Greet(wire.MaxAddress)
	address := string(hello)
	if err != nil || !wire.IsAgent(address) {
		port.Refused(errAddress)
		return
	}
	conn.Greeted()
	queue, leave := c.peers.Enter(address, port)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer conn.Close() // so that reading ends
		port.Deliver(ctx, queue, func(ctx context.Context, e wire.Envelope) error {
			data, err := e.Encode()
			if err == nil {
				err = conn.Write(ctx, data)
			}
			if err != nil { // the agent does not read any more
				cancel()
			}
			return err
		})
	}()
	read(ctx, conn, address, queue, port)
	cancel()
	leave()
	_ = conn.Close()
	<-written
}

// read reads the agent's frames until the connection is closed.
func read(ctx context.Context, conn *socket.Conn, address string, queue *runtime.Queue, port *runtime.Port) {
	for {
		frame, done, skipped, err := conn.Read(ctx)
		switch {
		case skipped:
			port.Refused(err)
		case err != nil:
			done()
			if !socket.IsEnd(err) {
				port.Refused(fmt.Errorf("reading a frame: %w", err))
			}
			return
		default:
			take(ctx, conn, address, queue, port, frame)
		}
		done()
	}
}

// take processes one frame.
func take(ctx context.Context, conn *socket.Conn, address string, queue *runtime.Queue, port *runtime.Port, frame []byte) {
	e, err := wire.DecodeEnvelope(frame)
	if err == nil && e.Sender != address {
		err = errSender
	}
	if err != nil {
		port.Refused(err)
		return
	}
	conn.Keep()
	_ = port.ReceiveFrom(ctx, e, queue) // an error means that the connection or the runtime ends
}
