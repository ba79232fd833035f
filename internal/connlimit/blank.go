package connlimit

// mostBlanks is how many characters CR and LF may precede the next request on a parked connection, in bytes: as many as net/http skips on
// a connection that it has kept.
const mostBlanks = 4

// withoutBlanks removes CR and LF from the start of the data read for a request, and returns the length of the rest: RFC 9112, section
// 2.2, requires a server to skip an empty line there, which some clients send after a body. net/http does so after a POST, but not on a
// new connection, and it takes a parked connection for a new one. The caller holds the lock.
func (c *Conn) withoutBlanks(p []byte) int {
	n := 0
	for n < len(p) && c.socket.blanks < mostBlanks && (p[n] == '\r' || p[n] == '\n') {
		n++
		c.socket.blanks++
	}
	return copy(p, p[n:])
}
