//go:build unix

package connlimit

import (
	"errors"
	"syscall"
)

// canPark reports whether connections can be parked on this system.
const canPark = true

// readable waits until there is something to read, and leaves it there. It reports false where nothing will come: the other side has
// ended, the deadline has passed, or the connection was closed.
func readable(c syscall.RawConn) bool {
	came := false
	err := c.Read(func(fd uintptr) bool {
		var first [1]byte
		n, _, err := syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK)
		came = n > 0
		return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
	})
	return err == nil && came
}
