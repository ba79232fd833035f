//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package pool

import (
	"errors"
	"syscall"
)

// pristine looks, without waiting, whether the other side has neither closed the connection nor, where quiet
// is expected of it, sent anything.
func pristine(conn syscall.RawConn, quiet bool) bool {
	fine := false
	err := conn.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case err == nil:
			fine = n > 0 && !quiet
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
			fine = true
		}
	})
	return fine && err == nil
}
