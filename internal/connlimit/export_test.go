package connlimit

// Kept reports whether Keep was called. For a nil Conn it returns true.
func (c *Conn) Kept() bool {
	if c == nil {
		return true
	}
	c.socket.listener.mu.Lock()
	defer c.socket.listener.mu.Unlock()
	return c.socket.kept
}
