//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package pool

import (
	"errors"
	"syscall"
)

// A peeker inspects a connection without reading from it.
type peeker struct {
	conn  syscall.RawConn
	look  func(fd uintptr) // made once
	quiet bool             // no data is expected
	fine  bool             // the result of look
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

// pristine reports, without waiting, whether the peer has neither closed the connection nor, if quiet is set, sent anything.
func (p *peeker) pristine(quiet bool) bool {
	p.quiet, p.fine = quiet, false
	return p.conn.Control(p.look) == nil && p.fine
}
