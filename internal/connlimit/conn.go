package connlimit

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A socket is an open connection, from when it is accepted until it is closed. Several Conns may read from it, one after another; between
// them it is parked.
type socket struct {
	net.Conn
	listener *Listener
	networks []netip.Prefix
	raw      syscall.RawConn // nil if the connection cannot be parked
	served   atomic.Bool

	// blanks is the number of CR and LF that were skipped since the last request. It is guarded by the lock of the Conn that has the socket.
	blanks int

	// Guarded by the lock of the listener.
	in        *list.List // the list that contains the socket, at place; nil if the socket is not evictable
	place     *list.Element
	kept      bool // Keep was called
	active    bool // a request is in progress, or a handler has hijacked the connection
	forgotten bool
}

// end closes the socket and releases its place. Close only closes the connection, and does not change the counts.
func (s *socket) end() error {
	s.listener.mu.Lock()
	s.listener.forget(s)
	s.listener.mu.Unlock()
	return s.Close()
}

// A Conn is an accepted connection as the server sees it. When the socket is parked, the server reads io.EOF from the Conn, and closes it.
// When there is data to read again, the server accepts another Conn for the same socket.
type Conn struct {
	net.Conn
	socket *socket

	mu    sync.Mutex
	stage stage
	// waits is set until data of the next request has been read.
	waits bool
	// again is set on the Conn of a socket that was parked, until the server has received data from it.
	again bool
	// whole is the size of the first Read, for which the buffer of the server is empty; a smaller Read means that the buffer contains data. 0
	// means that there was no Read yet.
	whole int
	// bounded means that the server has set the deadline for the next request.
	bounded bool
	// short means that the deadline of the socket is earlier than until, the deadline that the server has set.
	short bool
	until time.Time
}

// A stage is the progress of a Conn towards being parked or closed.
type stage uint8

const (
	served  stage = iota
	leaving       // the server has read io.EOF, and will close the Conn
	left          // the server has closed the Conn, and the socket is parked
)

// Read reads from the connection. If no data arrives before the connection must be parked, Read returns io.EOF.
func (c *Conn) Read(p []byte) (int, error) {
	mayPark := c.reads(len(p))
	for {
		n, err := c.Conn.Read(p)
		if !mayPark {
			return n, err
		}
		if n, done, err := c.waited(p[:n], err); done {
			return n, err
		}
	}
}

// waited returns the result of Read after Read has waited for a request. done is false if all received bytes were skipped; Read must then
// wait again.
func (c *Conn) waited(p []byte, err error) (n int, done bool, result error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = len(p)
	switch {
	case n > 0:
		if c.again {
			n = c.withoutBlanks(p)
		}
		if n == 0 && err == nil {
			return 0, false, nil
		}
		c.waits, c.again = false, false
	case c.short && c.stage == served && errors.Is(err, os.ErrDeadlineExceeded):
		c.stage = leaving
		return 0, true, io.EOF
	}
	return n, true, err
}

// reads prepares a Read of size bytes, and reports whether the connection may be parked if no data arrives. It may not be parked once a
// byte of the request is in the server's buffer: the deadline that the server has set then applies.
func (c *Conn) reads(size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole = cmp.Or(c.whole, size)
	if c.waits && c.whole == size {
		return true
	}
	c.waits = false
	if c.short {
		c.short = false
		_ = c.Conn.SetReadDeadline(c.until) // if this fails, the Read returns the error
	}
	return false
}

// SetReadDeadline limits how long reads wait. A connection that waits for a request may be parked earlier.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.Conn.SetReadDeadline(c.soon(t))
}

// SetDeadline sets the deadlines of reads and writes, as SetReadDeadline and SetWriteDeadline do.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// soon returns the deadline to set on the socket for reading: t or, if it is earlier, the time at which the connection must be parked.
func (c *Conn) soon(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.short = false
	if c.bounded && c.whole > 0 { // a second deadline without a Read: the request was already in the buffer
		c.waits = false
	}
	c.bounded = true
	if !c.waits || c.socket.raw == nil {
		return t
	}
	soon := time.Now().Add(c.socket.listener.b.Park) //nolint:forbidigo // deadlines of connections use the machine's clock
	if t.IsZero() || soon.Before(t) {
		c.short, c.until = true, t
		return soon
	}
	return t
}

// Close closes the connection and releases its place. If the connection must be parked, Close parks it instead, and the place stays
// occupied.
func (c *Conn) Close() error {
	c.mu.Lock()
	stage, until := c.stage, c.until
	if stage == leaving {
		c.stage = left
	}
	c.mu.Unlock()
	if stage == left || stage == leaving && c.socket.listener.park(c.socket, until) {
		return nil
	}
	return c.socket.end()
}

// MarkServed records that a request on the connection succeeded. On a nil Conn it does nothing.
func (c *Conn) MarkServed() {
	if c != nil {
		c.socket.served.Store(true)
	}
}

// Served reports whether a request on the connection succeeded. For a nil Conn, which this package did not accept, it returns true.
func (c *Conn) Served() bool { return c == nil || c.socket.served.Load() }

// Keep records that the credentials of the peer have just been accepted. From then on, the connection is closed in favour of others only
// while it has no request in progress, and only if there is no connection on which Keep was not called. A server that does not use State
// calls Keep for each message, so that the connection that has been silent longest is closed first. On a nil Conn, Keep does nothing.
func (c *Conn) Keep() {
	if c == nil {
		return
	}
	c.MarkServed()
	c.socket.update(func(s *socket) { s.kept = true })
}

// update applies change to the socket, and then updates its position in the lists of evictable sockets. A socket on which Keep was called
// moves to the end of the idle list or, during a request, is removed from the lists.
func (s *socket) update(change func(*socket)) {
	l := s.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	change(s)
	switch {
	case s.forgotten || !s.kept:
	case s.active:
		l.move(s, nil)
	default:
		l.move(s, l.idle)
	}
}

// State is the ConnState hook of an http.Server. Without it, connections are parked only before their first request, and connections with
// a request in progress are evicted as if they were idle.
func State(c net.Conn, state http.ConnState) {
	accepted := own(c)
	if accepted == nil {
		return
	}
	switch state {
	case http.StateActive, http.StateHijacked:
		accepted.socket.update(func(s *socket) { s.active = true })
	case http.StateIdle:
		accepted.socket.update(func(s *socket) { s.active = false })
		if net.Conn(accepted) == c { // a connection with TLS cannot be parked, because its session could not be resumed
			accepted.wait()
		}
	case http.StateNew, http.StateClosed: // the listener counts when it opens and closes connections
	}
}

// wait records that the server waits for the next request.
func (c *Conn) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits, c.bounded = true, false
	c.socket.blanks = 0
}

// own returns c as a Conn or, if c is a TLS connection, the Conn on which it runs; nil if there is none.
func own(c net.Conn) *Conn {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	accepted, _ := c.(*Conn)
	return accepted
}

type connKey struct{}

// Context is the ConnContext hook of an http.Server. It adds the connection to the context, for Of.
func Context(ctx context.Context, c net.Conn) context.Context {
	if accepted := own(c); accepted != nil {
		return context.WithValue(ctx, connKey{}, accepted)
	}
	return ctx
}

// Of returns the connection of a request; nil if this package did not accept it.
func Of(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}
