//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package pool

import (
	"errors"
	"syscall"
)

// A peeker inspects a connection without reading from it.
type peeker struct {
	conn  syscall.RawConn
	look  func(fd uintptr) // created once, to avoid allocations
	quiet bool             // whether received data is an error
	fine  bool             // result of look
}

func newPeeker(conn syscall.RawConn) *peeker {
	p := &peeker{conn: conn}
	p.look = func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case err == nil:
			p.fine = n > 0 && !p.quiet
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
			p.fine = true
		}
	}
	return p
}

// pristine reports whether the peer has not closed the connection and, if quiet is true, has not sent anything. It does not wait.
func (p *peeker) pristine(quiet bool) bool {
	p.quiet, p.fine = quiet, false
	return p.conn.Control(p.look) == nil && p.fine
}
