package pool

import "net"

// The errors of heads that are not acceptable.
var (
	ErrStatusLine = errStatusLine
	ErrField      = errField
	ErrCoding     = errCoding
	ErrInterim    = errInterim
	ErrTrailer    = errTrailer
)

// NewConn is a connection of a pool, over which a request of a method was sent.
func NewConn(p *Pool, c net.Conn, method string) *Conn {
	conn := newConn(p, c, c)
	conn.method, conn.left = method, p.cfg.MaxHeader
	return conn
}

// Reusable reports whether the answer leaves the connection fit for another request.
func (c *Conn) Reusable() bool { return c.reusable() }
