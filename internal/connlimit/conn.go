package connlimit

import (
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

// A socket is an open connection, from accept to close, while any Conn reads from it or it is parked.
type socket struct {
	net.Conn
	listener *Listener
	networks []netip.Prefix
	raw      syscall.RawConn // of a connection that may be parked; nil otherwise
	served   atomic.Bool

	// blanks is how many CR and LF were skipped since the last request; guarded by the lock of the Conn that has the socket.
	blanks int

	// Under the lock of the listener.
	in        *list.List // the list that has it at place; nil if it may not be closed for others
	place     *list.Element
	kept      bool
	active    bool // a request is in progress, or a handler has hijacked the connection
	forgotten bool
}

// end closes the socket and releases its place. Close, of the connection, does not affect the counts.
func (s *socket) end() error {
	s.listener.mu.Lock()
	s.listener.forget(s)
	s.listener.mu.Unlock()
	return s.Close()
}

// A Conn is an accepted connection in the server's view: when it is parked, the server reads the end of the connection, and accepts
// another Conn when there is data to read.
type Conn struct {
	net.Conn
	socket *socket

	mu    sync.Mutex
	stage stage
	// waits is set as long as nothing of the next request has been read.
	waits bool
	// again is set as long as nothing has been read for the server from a socket that was parked.
	again bool
	// whole is how much a Read requests while the buffer of the server is empty, as it is for the first one. 0: there was none.
	whole int
	// bounded means that the server has set the deadline for the next request.
	bounded bool
	// short means that the deadline of the socket is earlier than until, which the server has set.
	short bool
	until time.Time
}

// A stage is the progress of a Conn towards being parked or closed.
type stage uint8

const (
	served  stage = iota
	leaving       // the server has read the end of the connection, and will close it
	left          // and has closed it: it is parked
)

// Read reads from the connection. If nothing comes for so long that the connection must be parked, the error is io.EOF.
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

// waited returns the result of a Read that has waited for a request. It is not done if all received data must be skipped.
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

// reads prepares reading n bytes, and reports whether the connection may be parked if none arrive. It may not once a byte of the request
// is in the server's buffer: its deadline is then the server's.
func (c *Conn) reads(size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.whole == 0 {
		c.whole = size
	}
	if c.waits && c.whole == size {
		return true
	}
	c.waits = false
	if c.short {
		c.short = false
		_ = c.Conn.SetReadDeadline(c.until) // otherwise the read reports the error
	}
	return false
}

// SetReadDeadline bounds how long reads wait. While the connection waits for a request, it is parked earlier.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.Conn.SetReadDeadline(c.soon(t))
}

// SetDeadline bounds reads, as SetReadDeadline does, and writes.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// soon returns the deadline for reading: t, or the time to park the connection.
func (c *Conn) soon(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.short = false
	if c.bounded && c.whole > 0 { // another deadline, without a Read: the request was in the buffer
		c.waits = false
	}
	c.bounded = true
	if !c.waits || c.socket.raw == nil {
		return t
	}
	soon := time.Now().Add(c.socket.listener.b.Park) //nolint:forbidigo // connections have the machine's clock
	if t.IsZero() || soon.Before(t) {
		c.short, c.until = true, t
		return soon
	}
	return t
}

// Close closes the connection and releases its place, unless it must be parked.
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

// MarkServed records that a request on the connection succeeded. The nil Conn ignores it.
func (c *Conn) MarkServed() {
	if c != nil {
		c.socket.served.Store(true)
	}
}

// Served reports whether a request on the connection succeeded. The nil Conn, which was not accepted here, reports true.
func (c *Conn) Served() bool { return c == nil || c.socket.served.Load() }

// Keep records that the listener's owner has just accepted the credentials of the peer. From then on the connection is closed for others
// only while it has no request in progress, and after all that were not kept. A server without State calls Keep for each message, so that
// the connection that was silent longest is closed first. The nil Conn ignores it.
func (c *Conn) Keep() {
	if c == nil {
		return
	}
	c.MarkServed()
	c.socket.update(func(s *socket) { s.kept = true })
}

// Kept reports whether Keep was called. The nil Conn reports true.
func (c *Conn) Kept() bool {
	if c == nil {
		return true
	}
	c.socket.listener.mu.Lock()
	defer c.socket.listener.mu.Unlock()
	return c.socket.kept
}

// update updates the connection's place in the lists of evictable connections. A kept connection moves to the end of its list, or leaves
// the lists.
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

// State is a ConnState of net/http. Without it connections are parked only before their first request, and those with a request in
// progress are evicted as if they were idle.
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
		if net.Conn(accepted) == c { // with TLS, a session that ends cannot be resumed
			accepted.wait()
		}
	case http.StateNew, http.StateClosed: // the listener opens and closes connections
	}
}

// wait notes that the server waits for the next request.
func (c *Conn) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits, c.bounded = true, false
	c.socket.blanks = 0
}

// own returns the connection of this package that c is, or that is below its TLS; nil if there is none.
func own(c net.Conn) *Conn {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	accepted, _ := c.(*Conn)
	return accepted
}

type connKey struct{}

// Context is a ConnContext of net/http.
func Context(ctx context.Context, c net.Conn) context.Context {
	if accepted := own(c); accepted != nil {
		return context.WithValue(ctx, connKey{}, accepted)
	}
	return ctx
}

// Of returns the connection of a request; nil if it was not accepted here.
func Of(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}
