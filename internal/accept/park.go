package accept

import (
	"net"
	"time"
)

// A connection on which no request is under way costs net/http two buffers of 4 kB and a stack of 8. So a Conn whose Read has waited for
// Bounds.Park, and got nothing, says io.EOF: the server gives back what it holds and closes the Conn. That leaves the socket open, for a
// goroutine which waits without a buffer, within the deadline that the server had set. As soon as there is something to read, the socket
// comes out of Accept again as a new Conn. No byte is lost, since none was read; all counts stay as they are.

// Accept waits for a connection that is within the bounds, or for one that was parked and has something to read.
func (l *Listener) Accept() (net.Conn, error) {
	l.start()
	select {
	case c := <-l.ready:
		return c, nil
	case err := <-l.failed:
		return nil, err
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// start has connections accepted, once.
func (l *Listener) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed && !l.accepting {
		l.accepting = true
		l.running.Go(l.acceptAll)
	}
}

func (l *Listener) acceptAll() {
	for {
		c, err := l.Listener.Accept()
		if err == nil {
			if s := l.acceptOne(c); s != nil {
				l.hand(s)
			}
			continue
		}
		select {
		case l.failed <- err:
		case <-l.done:
			return
		}
	}
}

// hand gives a socket to whoever accepts.
func (l *Listener) hand(s *socket) {
	select {
	case l.ready <- &Conn{Conn: s.Conn, socket: s, waits: true}:
	case <-l.done:
		_ = s.close()
	}
}

// park has the socket wait for its next request, until a time; the zero time is never. It reports false where that cannot be.
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

// wait waits for what comes on a socket.
func (l *Listener) wait(s *socket) {
	came := readable(s.raw)
	l.mu.Lock()
	delete(l.parked, s)
	l.mu.Unlock()
	if came {
		l.hand(s)
		return
	}
	_ = s.close()
}

// Parked is how many connections are parked now, and how many times one was since the start.
func (l *Listener) Parked() (now, ever int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.parked), l.parkings
}

// Close ends accepting, closes the connections that are parked, and leaves those that are being served.
func (l *Listener) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.done)
	}
	for s := range l.parked {
		_ = s.Close() // wait does the rest
	}
	l.mu.Unlock()
	err := l.Listener.Close()
	l.running.Wait()
	return err
}
