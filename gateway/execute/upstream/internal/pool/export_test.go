package pool

import "net"

// The errors for invalid heads of responses.
var (
	ErrStatusLine = errStatusLine
	ErrField      = errField
	ErrCoding     = errCoding
	ErrInterim    = errInterim
	ErrTrailer    = errTrailer
)

// NewConn returns a connection of a pool. A request with this method counts as sent.
func NewConn(p *Pool, c net.Conn, method string) *Conn {
	conn := newConn(p, c, c)
	conn.method, conn.left = method, p.cfg.MaxHeader
	return conn
}

// Reusable reports whether the connection can send another request after the response.
func (c *Conn) Reusable() bool { return c.reusable() }
