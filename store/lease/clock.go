package lease

import "time"

// An instant is one moment on two clocks: a monotonic clock, which may stop while the machine sleeps, and the wall clock, which may be
// set. A deadline has passed if it has passed on either clock.
type instant struct {
	elapsed time.Duration
	wall    int64 // nanoseconds since 1970
}

// newClock returns a function that reads both clocks.
func newClock(o Options) func() instant {
	if o.Elapsed != nil {
		return func() instant { return instant{o.Elapsed(), o.Now().UnixNano()} }
	}
	start := o.Now()
	return func() instant {
		now := o.Now()
		return instant{now.Sub(start), now.UnixNano()}
	}
}

func (i instant) add(d time.Duration) instant { return instant{i.elapsed + d, i.wall + int64(d)} }

// until returns the duration from another instant to this one, on the clock on which it is shorter.
func (i instant) until(from instant) time.Duration {
	return min(i.elapsed-from.elapsed, time.Duration(i.wall-from.wall))
}

// reached reports whether the instant has passed on either clock.
func (i instant) reached(now instant) bool { return i.until(now) <= 0 }
