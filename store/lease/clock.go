package lease

import "time"

// An instant is one moment by two clocks: one that only goes forward but may stand still while the machine
// sleeps, and the wall clock, which somebody may set. What has to end by then ends by whichever is there first.
type instant struct {
	elapsed time.Duration
	wall    int64 // nanoseconds since 1970
}

// newClock reads both.
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

// until is how long it takes from another moment, by the clock that says less.
func (i instant) until(from instant) time.Duration {
	return min(i.elapsed-from.elapsed, time.Duration(i.wall-from.wall))
}

// reached reports whether it is there by either clock.
func (i instant) reached(now instant) bool { return i.until(now) <= 0 }
