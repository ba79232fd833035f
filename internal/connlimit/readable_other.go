//go:build !unix

package connlimit

import "syscall"

const canPark = false

func readable(syscall.RawConn) bool { return false }
