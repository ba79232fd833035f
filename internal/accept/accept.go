// Package accept bounds the connections that are open at once, where they are accepted: of one address, of the networks an
// IPv6 address is part of, and in all. It also tells the connections of strangers from those that were of use to somebody.
//
//	bounded := accept.New(ln, accept.Bounds{All: 16384, PerAddress: 256, …})
//	server := &http.Server{ConnContext: accept.Context, ConnState: accept.State, …}
//	server.Serve(bounded)
//	accept.Of(r.Context()).Keep() // in a handler: this connection is worth keeping
package accept

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Bounds are how many connections may be open at once. All members but Answer, Park and Trouble are required.
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
	// Park is how long a connection may wait for a request before it is parked: the server gives back what it holds for it, until
	// there is something to read. 0: none is. It is for servers of net/http that have Context and State of this package, and are
	// without TLS, whose sessions cannot be taken up again.
	Park time.Duration
	// Shed is called for each connection that was refused, or closed to make room.
	Shed func(Cause)
	// Trouble is called where no connection can be accepted for now, such as without a free file descriptor: with the first error, and
	// at most once a minute. It must not wait.
	Trouble func(error)
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
	strangers *list.List // of *socket, the oldest first
	parked    map[*socket]struct{}
	parkings  int  // since the start
	accepting bool // acceptAll runs
	closed    bool

	ready   chan *Conn     // what Accept returns
	failed  chan error     // likewise
	done    chan struct{}  // closed with the listener
	running sync.WaitGroup // acceptAll, and a wait for each socket that is parked
}

// New bounds what a listener accepts.
func New(ln net.Listener, b Bounds) *Listener {
	if !canPark {
		b.Park = 0
	}
	l := &Listener{
		Listener: ln, b: b, networks: map[netip.Prefix]int{}, strangers: list.New(), parked: map[*socket]struct{}{},
		ready: make(chan *Conn), failed: make(chan error), done: make(chan struct{}),
	}
	l.SetPerAddress(b.PerAddress)
	return l
}

// SetPerAddress changes Bounds.PerAddress for connections to come.
func (l *Listener) SetPerAddress(n int) { l.perAddress.Store(int64(n)) }

// acceptOne counts a connection; nil: it was refused.
func (l *Listener) acceptOne(c net.Conn) *socket {
	admitted, evicted, cause := l.admit(c)
	if evicted != nil {
		_ = evicted.Close() // it is forgotten already
	}
	if cause != "" {
		l.b.Shed(cause)
	}
	if admitted == nil {
		l.refuse(c)
	}
	return admitted
}

// refuse answers a connection that does not fit. Writing does not wait: the buffer of the kernel is empty.
func (l *Listener) refuse(c net.Conn) {
	if len(l.b.Answer) > 0 {
		_, _ = c.Write(l.b.Answer)
	}
	_ = c.Close()
}

// admit counts a connection, or says why it does not fit. evicted has to be closed to make room.
func (l *Listener) admit(c net.Conn) (admitted, evicted *socket, cause Cause) {
	admitted = &socket{Conn: c, listener: l, networks: l.networksOf(c)}
	if own, ok := c.(syscall.Conn); ok && l.b.Park > 0 {
		admitted.raw, _ = own.SyscallConn() // nil: it is not parked
	}
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
		evicted, _ = oldest.Value.(*socket)
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
	l.strangers.Remove(s.place)
}
