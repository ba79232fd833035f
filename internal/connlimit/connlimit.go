// Package connlimit limits the number of open connections per address, per network that contains an IPv6 address, and in total. The
// limits apply when a connection is accepted. If the total is reached, a connection on which Keep was not called is closed to make room
// for a new one; if there is none, an idle connection is closed.
//
//	bounded := connlimit.New(ln, connlimit.Bounds{All: 16384, PerAddress: 256, …})
//	server := &http.Server{ConnContext: connlimit.Context, ConnState: connlimit.State, …}
//	server.Serve(bounded)
//	connlimit.Of(r.Context()).Keep() // in a handler that has accepted the caller's credentials
package connlimit

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Bounds limit concurrent connections. All fields except Answer, Park and Trouble are required.
type Bounds struct {
	// All limits the connections of all addresses together. When the limit is reached, the oldest connection on which Keep was not called is
	// closed to make room for a new one. If Keep was called on all, the connection that has waited longest for a request is closed or, if all
	// have a request in progress, the new connection is refused.
	All int
	// PerAddress limits the connections of one IPv4 address or one IPv6 /64; a /56 may have twice as many, and a /48 four times as many.
	PerAddress int
	// Exempt reports whether an address represents many clients, for example a proxy. Only All limits the connections of such an address.
	Exempt func(netip.Addr) bool
	// Answer is written to a connection that is refused, before it is closed. If it is empty, nothing is written.
	Answer []byte
	// Park is how long a connection may wait for a request before it is parked: the server releases the memory for the connection until
	// there is data to read. 0 means that connections are not parked. Parking requires an http.Server with Context and State of this package
	// and without TLS, because a TLS session cannot be resumed.
	Park time.Duration
	// Shed is called for each connection that was refused, or closed in favour of another.
	Shed func(Cause)
	// Trouble is called if connections temporarily cannot be accepted, for example because no file descriptor is free. It is called with the
	// first error, and then at most once a minute. It must not block.
	Trouble func(error)
}

// A Cause is the reason why a connection was refused or closed.
type Cause string

// The causes.
const (
	Address Cause = "connections_address" // the address or network has too many connections
	All     Cause = "connections"         // there are too many connections in total
)

// A Listener accepts connections within its limits.
type Listener struct {
	net.Listener
	b          Bounds
	perAddress atomic.Int64

	mu        sync.Mutex
	open      int
	networks  map[netip.Prefix]int
	unkept    *list.List // of *socket on which Keep was not called, oldest first
	idle      *list.List // of *socket on which Keep was called, without a request in progress, longest idle first
	parked    map[*socket]struct{}
	parkings  int  // the number of parkings since the start
	accepting bool // acceptAll is running
	closed    bool

	ready   chan *Conn     // connections that Accept returns
	failed  chan error     // errors that Accept returns
	done    chan struct{}  // closed with the listener
	running sync.WaitGroup // acceptAll, and a goroutine for each parked socket
}

// New returns a Listener that limits the connections of ln.
func New(ln net.Listener, b Bounds) *Listener {
	if !canPark {
		b.Park = 0
	}
	l := &Listener{
		Listener: ln, b: b, networks: map[netip.Prefix]int{}, unkept: list.New(), idle: list.New(),
		parked: map[*socket]struct{}{}, ready: make(chan *Conn), failed: make(chan error), done: make(chan struct{}),
	}
	l.SetPerAddress(b.PerAddress)
	return l
}

// SetPerAddress changes Bounds.PerAddress for future connections.
func (l *Listener) SetPerAddress(n int) { l.perAddress.Store(int64(n)) }

// acceptOne admits a new connection, and closes the one that is evicted for it. It returns nil if the new connection was refused.
func (l *Listener) acceptOne(c net.Conn) *socket {
	admitted, evicted, cause := l.admit(c)
	if evicted != nil {
		_ = evicted.Close() // admit has already removed it from the counts
	}
	if cause != "" {
		l.b.Shed(cause)
	}
	if admitted == nil {
		l.refuse(c)
	}
	return admitted
}

// refuse writes Answer to a connection that was not admitted, and closes the connection. The write does not block, because the kernel's
// send buffer is empty.
func (l *Listener) refuse(c net.Conn) {
	if len(l.b.Answer) > 0 {
		_, _ = c.Write(l.b.Answer)
	}
	_ = c.Close()
}

// admit counts a connection. If the limits do not allow it, admitted is nil. If a connection was evicted to make room, the caller must
// close evicted. cause is empty unless a connection was refused or evicted.
func (l *Listener) admit(c net.Conn) (admitted, evicted *socket, cause Cause) {
	admitted = &socket{Conn: c, listener: l, networks: l.networksOf(c)}
	if own, ok := c.(syscall.Conn); ok && l.b.Park > 0 {
		admitted.raw, _ = own.SyscallConn() // if raw is nil, the connection is never parked
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, network := range admitted.networks {
		if int64(l.networks[network]) >= l.perAddress.Load()<<i {
			return nil, nil, Address
		}
	}
	if l.open >= l.b.All {
		if evicted = l.evictable(); evicted == nil {
			return nil, nil, All
		}
		l.forget(evicted)
		cause = All
	}
	l.open++
	for _, network := range admitted.networks {
		l.networks[network]++
	}
	l.move(admitted, l.unkept)
	return admitted, evicted, cause
}

// evictable returns the connection to evict for a new one; nil if there is none. The caller holds the lock.
func (l *Listener) evictable() *socket {
	for _, from := range []*list.List{l.unkept, l.idle} {
		if first := from.Front(); first != nil {
			s, _ := first.Value.(*socket)
			return s
		}
	}
	return nil
}

// move moves a connection to the end of a list of evictable connections; if to is nil, it only removes the connection from its list. The
// caller holds the lock.
func (l *Listener) move(s *socket, to *list.List) {
	if s.in != nil {
		s.in.Remove(s.place)
	}
	if s.in, s.place = to, nil; to != nil {
		s.place = to.PushBack(s)
	}
}

// networksOf returns the networks whose limits apply to a connection. Each network may have twice as many connections as the
// previous one.
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

// forget removes a connection from the counts, unless that was already done. The caller holds the lock.
func (l *Listener) forget(s *socket) {
	if s.forgotten {
		return
	}
	s.forgotten = true
	l.open--
	for _, network := range s.networks {
		if l.networks[network]--; l.networks[network] == 0 {
			delete(l.networks, network)
		}
	}
	l.move(s, nil)
}
