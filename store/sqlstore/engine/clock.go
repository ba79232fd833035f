package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
)

// A clock is the clock of the process, or the clock of the database, which is read now and then and extrapolated with the clock of the
// process.
type clock struct {
	local func() time.Time
	read  atomic.Pointer[clockReading]
}

// A clockReading is the time of another clock at the moment when the process's own clock read local.
type clockReading struct {
	local, remote time.Time
	off           time.Duration // maximum error at that moment
}

// drift is the maximum rate at which two clocks drift apart.
const drift = 1e-3

func (c *clock) now() time.Time {
	now, r := c.local(), c.read.Load()
	if r == nil {
		return now
	}
	return r.at(now)
}

// at returns the time of the other clock when the process's own clock reads now. The monotonic clock stops while a machine sleeps, and the
// wall clock can be set back, so at uses the clock on which more time has passed.
func (r *clockReading) at(now time.Time) time.Time {
	return r.remote.Add(max(now.Sub(r.local), now.Round(0).Sub(r.local.Round(0))))
}

// set records remote, the time of the other clock at some moment between two readings of the process's own clock. It keeps the current
// reading instead if that is more accurate and agrees with the new one within their errors.
func (c *clock) set(requested, answered, remote time.Time) {
	took := max(0, answered.Sub(requested))
	r := &clockReading{local: requested.Add(took / 2), remote: remote.UTC(), off: took / 2}
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

const (
	// stepTolerated is how far the clocks may differ, in addition to their drift, before the difference counts as a step.
	stepTolerated = 2 * time.Second
	// stepKept is how long a step can affect limits: the longest rolling period, including its extra slots.
	stepKept = 8 * 24 * time.Hour
	// rebase is the age at which a stepWatch replaces the reading with which it compares new ones.
	rebase = time.Minute
)

// A stepWatch detects when the clock of the database is set. It compares that clock with a monotonic clock.
type stepWatch struct {
	mu   sync.Mutex
	base *timedReading
	last window.Step
}

// A timedReading is the time of the database's clock at some moment between two readings of the process's monotonic clock.
type timedReading struct {
	requestedAt, answered time.Duration
	at                    time.Time
}

// see compares r with an earlier reading, and returns by how much the clock was set between the two; 0 if it was not set.
func (w *stepWatch) see(r timedReading) (by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.base
	if b == nil {
		w.base = &r
		return 0
	}
	least, most := r.requestedAt-b.answered, r.answered-b.requestedAt // time elapsed between the two readings
	passed, tolerated := r.at.Sub(b.at), stepTolerated+time.Duration(drift*float64(max(0, most)))
	switch {
	case passed > most+tolerated:
		by = passed - least
	case passed < least-tolerated:
		by = passed - most
	}
	if by != 0 || least > rebase {
		w.base = &r
	}
	if by != 0 {
		w.add(window.Step{At: r.at, Forward: max(0, by), Back: max(0, -by)})
	}
	return by
}

// add records s, combined with earlier steps that can still affect limits.
func (w *stepWatch) add(s window.Step) {
	if old := w.last; s.At.Sub(old.At).Abs() < stepKept {
		s.Forward += old.Forward
		s.Back += old.Back
	}
	w.last = s
}

func (w *stepWatch) step() window.Step {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}
