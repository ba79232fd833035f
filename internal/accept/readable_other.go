//go:build !unix

package accept

import "syscall"

const canPark = false

func readable(syscall.RawConn) bool { return false }
