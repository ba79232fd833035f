// Package local is the connection between the agents of one process, like the framework's connection local. The agents of a Node write to
// each other without a network:
//
//	node := local.NewNode()
//	r.Connect(node.Connection(r.Address()), runtime.ConnectionOptions{})
//
// An agent sends only under its own address, so its peers need no other proof of it.
package local

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// ID is the public id of the connection.
var ID = wire.PublicID{Author: "uimgate", Name: "local", Version: "1.0.0"}

// A Node joins the agents of one process. It is safe for concurrent use.
type Node struct {
	mu     sync.Mutex
	agents map[string]*Connection // running connections, by the address of the agent
}

// NewNode returns a Node without agents.
func NewNode() *Node { return &Node{agents: map[string]*Connection{}} }

// Connection returns the connection of the agent with the given address. The agent is reachable while its connection runs. If two running
// connections have one address, envelopes go to the one that was started last.
func (n *Node) Connection(address string) *Connection {
	return &Connection{node: n, address: address, queues: map[*Connection]*runtime.Queue{}}
}

func (n *Node) enter(c *Connection) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.agents[c.address] = c
}

// leave removes a connection, and ends the queues of the others to it.
func (n *Node) leave(c *Connection) {
	n.mu.Lock()
	if n.agents[c.address] == c {
		delete(n.agents, c.address)
	}
	others := slices.Collect(maps.Values(n.agents))
	n.mu.Unlock()
	for _, other := range others {
		other.drop(c)
	}
}

func (n *Node) find(address string) *Connection {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.agents[address]
}

// count returns the number of agents other than that of c.
func (n *Node) count(c *Connection) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.agents[c.address] == c {
		return len(n.agents) - 1
	}
	return len(n.agents)
}

// A Connection connects one agent with the others of its Node. It implements runtime.Connection.
type Connection struct {
	node    *Node
	address string

	mu      sync.Mutex
	ctx     context.Context //nolint:containedctx // the context of Run, for deliveries that begin later
	port    *runtime.Port   // nil: not running
	queues  map[*Connection]*runtime.Queue
	running sync.WaitGroup // deliveries
}

// ID returns the public id of the connection.
func (c *Connection) ID() wire.PublicID { return ID }

// Confidential returns true: envelopes do not leave the process.
func (c *Connection) Confidential() bool { return true }

// State returns the current state of the connection.
func (c *Connection) State() runtime.ConnectionState {
	s := runtime.ConnectionState{Peers: c.node.count(c)}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.queues {
		s.Queued += q.Len()
	}
	return s
}

// Run keeps the agent reachable until ctx ends.
func (c *Connection) Run(ctx context.Context, port *runtime.Port) error {
	c.mu.Lock()
	c.ctx, c.port = ctx, port
	c.mu.Unlock()
	c.node.enter(c)
	<-ctx.Done()
	c.node.leave(c)
	c.mu.Lock()
	c.port = nil
	for to := range c.queues {
		c.end(to, port)
	}
	c.mu.Unlock()
	c.running.Wait()
	return nil
}

// Send queues an envelope for another agent of the Node. Errors are runtime.ErrNoPeer, runtime.ErrDown, runtime.ErrFull, and
// wire.ErrUnsendable if the sender is not the agent of this connection.
func (c *Connection) Send(e wire.Envelope) error {
	if e.Sender != c.address {
		return wire.ErrUnsendable
	}
	to := c.node.find(e.To)
	if to == nil {
		return runtime.ErrNoPeer
	}
	q := c.queue(to)
	if q == nil {
		return runtime.ErrDown
	}
	return q.Put(e)
}

// queue returns the queue for another agent, or nil if one of the two connections does not run. It begins to deliver the envelopes of a new
// queue.
func (c *Connection) queue(to *Connection) *runtime.Queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.port == nil || c.node.find(to.address) != to {
		return nil
	}
	q := c.queues[to]
	if q == nil {
		q = c.port.Queue()
		c.queues[to] = q
		ctx, port := c.ctx, c.port
		c.running.Go(func() {
			port.Deliver(ctx, q, func(ctx context.Context, e wire.Envelope) error { return to.receive(ctx, e, c) })
		})
	}
	return q
}

// drop ends the queue for an agent that has left.
func (c *Connection) drop(to *Connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.port != nil {
		c.end(to, c.port)
	}
}

// end closes the queue for another agent. The caller must hold the lock.
func (c *Connection) end(to *Connection, port *runtime.Port) {
	if q := c.queues[to]; q != nil {
		delete(c.queues, to)
		port.Dropped(q.Close(), runtime.ErrNoPeer)
	}
}

// receive puts an envelope into the InBox of this agent, and waits for space.
func (c *Connection) receive(ctx context.Context, e wire.Envelope, from *Connection) error {
	back := c.queue(from) //nolint:contextcheck // replies end with this connection, not with the one that sends
	if back == nil {
		return runtime.ErrNoPeer
	}
	c.mu.Lock()
	port := c.port
	c.mu.Unlock()
	if port == nil {
		return runtime.ErrNoPeer
	}
	return port.ReceiveOf(ctx, e, back)
}
