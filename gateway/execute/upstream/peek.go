//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package upstream

import (
	"errors"
	"net"
	"syscall"
)

// pristine looks, without waiting, whether the other side has neither closed the connection nor, where quiet
// is expected of it, sent anything. Beneath TLS there may be records that mean nothing yet.
func pristine(conn net.Conn, quiet bool) bool {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return true
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false
	}
	fine := false
	// Control and not Read: net/http is already waiting in a read of this connection.
	err = raw.Control(func(fd uintptr) {
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
