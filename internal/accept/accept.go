// Package accept bounds the connections that are open at once, where they are accepted: of one address, of the networks an
// IPv6 address is part of, and in all. It also tells the connections of strangers from those that were of use to somebody.
//
//	bounded := accept.New(ln, accept.Bounds{All: 16384, PerAddress: 256, …})
//	server := &http.Server{ConnContext: accept.Context, …}
//	server.Serve(bounded)
//	accept.Of(r.Context()).Keep() // in a handler: this connection is worth keeping
package accept

import (
	"container/list"
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Bounds are how many connections may be open at once. All members but Answer are required.
type Bounds struct {
	// All is of everybody. Beyond it the oldest connection that nobody was served on makes room for a new one; where there
	// is none, the new one is refused.
	All int
	// PerAddress is of one IPv4 address, or one IPv6 /64; a /56 may have twice as many, a /48 four times.
	PerAddress int
	// Exempt are addresses that speak for many, such as proxies: only All counts for them.
	Exempt func(netip.Addr) bool
	// Answer is written to a connection that is refused, before it is closed; empty: nothing.
	Answer []byte
	// Shed is called for each connection that was refused, or closed to make room.
	Shed func(Cause)
}

// A Cause is why a connection was refused or closed.
type Cause string

// The causes.
const (
	Address Cause = "connections_address" // its address or network has as many as it may
	All     Cause = "connections"         // there are as many as there may be
)

// A Listener accepts connections within its bounds.
type Listener struct {
	net.Listener
	b          Bounds
	perAddress atomic.Int64

	mu        sync.Mutex
	open      int
	networks  map[netip.Prefix]int
	strangers *list.List // of *Conn, the oldest first
}

// New bounds what a listener accepts.
func New(ln net.Listener, b Bounds) *Listener {
	l := &Listener{Listener: ln, b: b, networks: map[netip.Prefix]int{}, strangers: list.New()}
	l.SetPerAddress(b.PerAddress)
	return l
}

// SetPerAddress changes Bounds.PerAddress for connections to come.
func (l *Listener) SetPerAddress(n int) { l.perAddress.Store(int64(n)) }

// Accept waits for a connection that is within the bounds.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		admitted, evicted, cause := l.admit(c)
		if evicted != nil {
			evicted.close()
		}
		if cause != "" {
			l.b.Shed(cause)
		}
		if admitted != nil {
			return admitted, nil
		}
		l.refuse(c)
	}
}

// refuse answers a connection that does not fit. Writing does not wait: the buffer of the kernel is empty.
func (l *Listener) refuse(c net.Conn) {
	if len(l.b.Answer) > 0 {
		_, _ = c.Write(l.b.Answer)
	}
	_ = c.Close()
}

// admit counts a connection, or says why it does not fit. evicted has to be closed to make room.
func (l *Listener) admit(c net.Conn) (admitted, evicted *Conn, cause Cause) {
	admitted = &Conn{Conn: c, listener: l, networks: l.networksOf(c)}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, network := range admitted.networks {
		if int64(l.networks[network]) >= l.perAddress.Load()<<i {
			return nil, nil, Address
		}
	}
	if l.open >= l.b.All {
		oldest := l.strangers.Front()
		if oldest == nil {
			return nil, nil, All
		}
		evicted, _ = oldest.Value.(*Conn)
		l.forget(evicted)
		cause = All
	}
	l.open++
	for _, network := range admitted.networks {
		l.networks[network]++
	}
	admitted.place = l.strangers.PushBack(admitted)
	return admitted, evicted, cause
}

// networksOf are the networks that a connection counts for, each of which may have twice as many as the one before.
func (l *Listener) networksOf(c net.Conn) []netip.Prefix {
	remote, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return nil
	}
	address := remote.AddrPort().Addr().Unmap().WithZone("")
	if !address.IsValid() || l.b.Exempt(address) {
		return nil
	}
	lengths := []int{64, 56, 48}
	if address.Is4() {
		lengths = []int{32}
	}
	var networks []netip.Prefix
	for _, bits := range lengths {
		if network, err := address.Prefix(bits); err == nil {
			networks = append(networks, network)
		}
	}
	return networks
}

// forget takes a connection out of the counts, once. The caller holds the lock.
func (l *Listener) forget(c *Conn) {
	if c.forgotten {
		return
	}
	c.forgotten = true
	l.open--
	for _, network := range c.networks {
		if l.networks[network]--; l.networks[network] == 0 {
			delete(l.networks, network)
		}
	}
	l.strangers.Remove(c.place)
}

// A Conn is a connection that was accepted.
type Conn struct {
	net.Conn
	listener *Listener
	networks []netip.Prefix
	kept     atomic.Bool

	// Under the lock of the listener.
	place     *list.Element
	forgotten bool
}

// Close closes the connection and makes room for another.
func (c *Conn) Close() error {
	c.listener.mu.Lock()
	c.listener.forget(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

func (c *Conn) close() { _ = c.Conn.Close() }

// Keep says that somebody was served on the connection: it does not make room for others any more. Of the nil Conn it does
// nothing.
func (c *Conn) Keep() {
	if c == nil || c.kept.Swap(true) {
		return
	}
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.listener.strangers.Remove(c.place)
}

// Kept reports whether Keep was called. The nil Conn is kept: it was not accepted here.
func (c *Conn) Kept() bool { return c == nil || c.kept.Load() }

type connKey struct{}

// Context is a ConnContext of net/http.
func Context(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = secure.NetConn()
	}
	if accepted, ok := c.(*Conn); ok {
		return context.WithValue(ctx, connKey{}, accepted)
	}
	return ctx
}

// Of returns the connection that a request came by; nil where it was not accepted here.
func Of(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}
