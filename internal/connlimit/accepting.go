package connlimit

import (
	"errors"
	"net"
	"time"
)

const (
	// The pauses after temporary errors are those of net/http: they begin with firstPause, and double up to longestPause.
	firstPause   = 5 * time.Millisecond
	longestPause = time.Second
	troubleEvery = time.Minute
)

// Accept waits for a connection within the limits, or for a parked connection that has data to read. It does not return temporary errors,
// such as a lack of file descriptors: it still returns parked connections, and soon tries again to accept new ones.
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

// start starts acceptAll, once.
func (l *Listener) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed && !l.accepting {
		l.accepting = true
		l.running.Go(l.acceptAll)
	}
}

// acceptAll accepts connections until the listener is closed.
func (l *Listener) acceptAll() {
	var b backoff
	for {
		c, err := l.Listener.Accept()
		switch {
		case err == nil:
			b.pause = 0
			if s := l.acceptOne(c); s != nil {
				l.hand(s, false)
			}
		case passes(err):
			if !l.rest(&b, err) {
				return
			}
		default:
			select {
			case l.failed <- err:
			case <-l.done:
				return
			}
		}
	}
}

// passes reports whether an error is temporary according to package syscall: for example, no file descriptor is free, or the connection
// was aborted before it was accepted.
func passes(err error) bool {
	passing, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && passing.Temporary()
}

// A backoff is the state of the pauses after temporary errors.
type backoff struct {
	pause    time.Duration // the last pause; 0 after a connection was accepted
	loggedAt time.Time
}

// rest reports an error to Trouble, at most once a minute, and pauses. It returns false if the listener is closed.
func (l *Listener) rest(b *backoff, err error) bool {
	now := time.Now() //nolint:forbidigo // only used for this pause
	if l.b.Trouble != nil && (b.loggedAt.IsZero() || now.Sub(b.loggedAt) >= troubleEvery) {
		b.loggedAt = now
		l.b.Trouble(err)
	}
	b.pause = min(max(firstPause, 2*b.pause), longestPause)
	timer := time.NewTimer(b.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}
