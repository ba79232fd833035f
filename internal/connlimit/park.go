package connlimit

import "time"

// A connection without a request costs net/http two buffers of 4 kB and a stack of 8. Therefore a Conn whose Read has waited for
// Bounds.Park without data returns io.EOF: the server releases its memory and closes the Conn. That leaves the socket open, for a
// goroutine that waits without a buffer, within the deadline that the server had set. As soon as there is data to read, Accept returns
// the socket again as a new Conn. No byte is lost, because none was read; all counts stay unchanged.

// hand passes a socket to Accept, again if it was parked.
func (l *Listener) hand(s *socket, again bool) {
	select {
	case l.ready <- &Conn{Conn: s.Conn, socket: s, waits: true, again: again}:
	case <-l.done:
		_ = s.end()
	}
}

// park makes the socket wait for its next request, until a time; the zero time is never. It returns false if that is impossible.
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

// wait waits for data on a socket.
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

// Parked returns how many connections are parked now, and how often one was parked since the start.
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

// Close stops accepting, closes the parked connections, and leaves those that are being served.
func (l *Listener) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.done)
	}
	for s := range l.parked {
		_ = s.Close() // that ends its wait, which no longer counts it
	}
	l.mu.Unlock()
	err := l.Listener.Close()
	l.running.Wait()
	return err
}
