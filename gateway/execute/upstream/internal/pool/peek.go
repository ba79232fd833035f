//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package pool

import (
	"errors"
	"syscall"
)

// A peeker looks into a connection.
type peeker struct {
	conn  syscall.RawConn
	look  func(fd uintptr) // made once
	quiet bool             // nothing is expected to have arrived
	fine  bool             // what look has found
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

// pristine looks, without waiting, whether the other side has neither closed the connection nor, where quiet
// is expected of it, sent anything.
func (p *peeker) pristine(quiet bool) bool {
	p.quiet, p.fine = quiet, false
	return p.conn.Control(p.look) == nil && p.fine
}
