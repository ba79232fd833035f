package connlimit

// mostBlanks is the maximum number of CR and LF characters that may precede the next request on a parked connection. net/http skips as
// many on a connection that it has kept open.
const mostBlanks = 4

// withoutBlanks removes CR and LF from the start of the data that was read for a request, and returns the length of the rest. RFC 9112,
// section 2.2, requires a server to skip an empty line before a request, because some clients send one after a body. net/http does so
// after a POST, but not on a new connection, and a parked connection appears to it as a new one. The caller holds the lock of c.
func (c *Conn) withoutBlanks(p []byte) int {
	n := 0
	for n < len(p) && c.socket.blanks < mostBlanks && (p[n] == '\r' || p[n] == '\n') {
		n++
		c.socket.blanks++
	}
	return copy(p, p[n:])
}
