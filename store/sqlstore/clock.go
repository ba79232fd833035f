package sqlstore

import (
	"sync/atomic"
	"time"
)

// A clock is the clock of the process, or that of the database: read now and then, and continued with the clock of the
// process.
type clock struct {
	local func() time.Time
	read  atomic.Pointer[reading]
}

// A reading is the time of another clock at the moment at which the process's own was local.
type reading struct {
	local, remote time.Time
	off           time.Duration // maximal error when it was read
}

// drift bounds the difference of two clocks in relation to the elapsed time.
const drift = 1e-3

func (c *clock) now() time.Time {
	now, r := c.local(), c.read.Load()
	if r == nil {
		return now
	}
	return r.at(now)
}

// at returns the time of the other clock when the process's own is now. The monotonic clock stands still while a
// machine sleeps and the wall clock can be set back: the elapsed time is the longer of both.
func (r *reading) at(now time.Time) time.Time {
	return r.remote.Add(max(now.Sub(r.local), now.Round(0).Sub(r.local.Round(0))))
}

// set records the time of the other clock between two moments of the process's own, unless the present reading is more
// exact.
func (c *clock) set(requested, answered, remote time.Time) {
	took := max(0, answered.Sub(requested))
	r := &reading{local: requested.Add(took / 2), remote: remote.UTC(), off: took / 2}
	for {
		known := c.read.Load()
		if known != nil && r.off > known.off+time.Duration(drift*float64(requested.Sub(known.local))) &&
			known.at(answered).Sub(r.at(answered)).Abs() <= r.off+known.off {
			return
		}
		if c.read.CompareAndSwap(known, r) {
			return
		}
	}
}
