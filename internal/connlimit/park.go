package connlimit

import "time"

// A connection without a request costs net/http two buffers of 4 kB and a stack of 8 kB. Therefore a Conn whose Read has waited for
// Bounds.Park without data returns io.EOF: the server then releases its memory and closes the Conn. The socket stays open, and a goroutine
// waits on it without a buffer, within the deadline that the server had set. When there is data to read, Accept returns the socket again as
// a new Conn. The new Conn gets all data, because none was read, and the counts do not change.

// hand passes a socket to Accept. again means that the socket was parked.
func (l *Listener) hand(s *socket, again bool) {
	select {
	case l.ready <- &Conn{Conn: s.Conn, socket: s, waits: true, again: again}:
	case <-l.done:
		_ = s.end()
	}
}

// park makes the socket wait for its next request until a deadline; the zero time means no deadline. It returns false if the socket cannot
// be parked.
func (l *Listener) park(s *socket, until time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || s.forgotten || s.SetReadDeadline(until) != nil {
		return false
	}
	l.parked[s] = struct{}{}
	l.parkings++
	l.running.Go(func() { l.wait(s) })
	return true
}

// wait waits for data on a parked socket, and passes it to Accept or, if no data arrives, closes it.
func (l *Listener) wait(s *socket) {
	came := readable(s.raw)
	l.mu.Lock()
	delete(l.parked, s)
	l.mu.Unlock()
	if came {
		l.hand(s, true)
		return
	}
	_ = s.end()
}

// Parked returns how many connections are parked now, and how often a connection was parked since the start.
func (l *Listener) Parked() (now, ever int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.parked), l.parkings
}

// Open returns how many connections are open, including parked ones.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// Close stops accepting and closes the parked connections. It does not close connections that are being served.
func (l *Listener) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.done)
	}
	for s := range l.parked {
		_ = s.Close() // this ends its wait, which removes it from the counts
	}
	l.mu.Unlock()
	err := l.Listener.Close()
	l.running.Wait()
	return err
}
