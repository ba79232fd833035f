package sqlstore

import (
	"sync/atomic"
	"time"
)

// A clock is the process's own, or the database's as far as it is known: read now and then, and carried on by the process's own.
type clock struct {
	local func() time.Time
	read  atomic.Pointer[reading]
}

// A reading is what another clock said when the process's own said local.
type reading struct {
	local, theirs time.Time
	off           time.Duration // at most, when it was read
}

// drift is how much two clocks may grow apart in relation to the time that passes.
const drift = 1e-3

func (c *clock) now() time.Time {
	now, r := c.local(), c.read.Load()
	if r == nil {
		return now
	}
	return r.at(now)
}

// at is what the other clock says when the process's own says now. The monotonic clock stands still while a machine sleeps
// and the wall clock can be set back: what has passed is what either says.
func (r *reading) at(now time.Time) time.Time {
	return r.theirs.Add(max(now.Sub(r.local), now.Round(0).Sub(r.local.Round(0))))
}

// set takes what the other clock said between two moments of the process's own, unless what is known is better.
func (c *clock) set(asked, answered, theirs time.Time) {
	took := max(0, answered.Sub(asked))
	r := &reading{local: asked.Add(took / 2), theirs: theirs.UTC(), off: took / 2}
	for {
		known := c.read.Load()
		if known != nil && r.off > known.off+time.Duration(drift*float64(asked.Sub(known.local))) && known.at(answered).Sub(r.at(answered)).Abs() <= r.off+known.off {
			return
		}
		if c.read.CompareAndSwap(known, r) {
			return
		}
	}
}
