package connlimit

import (
	"errors"
	"net"
	"time"
)

const (
	// The pauses after errors that pass are those of net/http: the first, doubled each time up to the longest.
	firstPause   = 5 * time.Millisecond
	longestPause = time.Second
	troubleEvery = time.Minute
)

// Accept waits for a connection that is within the bounds, or for one that was parked and has something to read. An error that may pass,
// such as that no file can be opened, is not returned: those that were parked come all the same, and accepting is tried again soon.
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

// passes reports whether accepting may succeed again after an error, as package syscall has it: no file can be opened now, or the
// connection was given up before it was accepted.
func passes(err error) bool {
	passing, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && passing.Temporary()
}

// A backoff is how accepting goes on after errors that pass.
type backoff struct {
	pause    time.Duration // the last one; 0 once a connection was accepted
	loggedAt time.Time
}

// rest logs an error and pauses. It returns false if the listener is closed.
func (l *Listener) rest(b *backoff, err error) bool {
	now := time.Now() //nolint:forbidigo // not the time of anything but this pause
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
