//go:build unix

package connlimit

import (
	"errors"
	"syscall"
)

// canPark reports whether connections can be parked on this system.
const canPark = true

// readable waits until there is data to read, and does not consume it. It returns false if no data will arrive: the peer has closed the
// connection, the deadline has passed, or this process has closed the connection.
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
