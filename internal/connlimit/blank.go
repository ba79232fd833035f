package connlimit

// mostBlanks is how many characters CR and LF may come before the next request on a connection that was parked, in bytes: as many as
// net/http reads over on one that it has kept.
const mostBlanks = 4

// withoutBlanks takes the CR and LF at the start of what was read for a request off, and returns how much is left: RFC 9112, section 2.2,
// has a server read over an empty line there, which some clients send behind a body. net/http does so after a POST, but not on a new
// connection, which is what it takes one for that was parked. The caller holds the lock.
func (c *Conn) withoutBlanks(p []byte) int {
	n := 0
	for n < len(p) && c.socket.blanks < mostBlanks && (p[n] == '\r' || p[n] == '\n') {
		n++
		c.socket.blanks++
	}
	return copy(p, p[n:])
}
