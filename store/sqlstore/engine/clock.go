package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
)

// A clock is the clock of the process, or that of the database: read now and then, and extrapolated with the clock of the process.
type clock struct {
	local func() time.Time
	read  atomic.Pointer[clockReading]
}

// A clockReading is the time of another clock when the process's own clock read local.
type clockReading struct {
	local, remote time.Time
	off           time.Duration // maximal error when it was read
}

// drift bounds the difference of two clocks relative to the elapsed time.
const drift = 1e-3

func (c *clock) now() time.Time {
	now, r := c.local(), c.read.Load()
	if r == nil {
		return now
	}
	return r.at(now)
}

// at returns the time of the other clock when the process's own clock reads now. The monotonic clock stops while a machine sleeps and the
// wall clock can be set back: the elapsed time is the longer of both.
func (r *clockReading) at(now time.Time) time.Time {
	return r.remote.Add(max(now.Sub(r.local), now.Round(0).Sub(r.local.Round(0))))
}

// set records the time of the other clock between two readings of the process's own, unless the present reading is more exact.
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
	// stepTolerated is how far the clocks may differ, beside their drift, without a step.
	stepTolerated = 2 * time.Second
	// stepKept is how long a step may matter: the longest rolling period, with its further slots.
	stepKept = 8 * 24 * time.Hour
	// rebase is after how long readings are compared with a newer one.
	rebase = time.Minute
)

// A stepWatch compares the clock of the database with the time since by a clock that only moves forward.
type stepWatch struct {
	mu   sync.Mutex
	base *timedReading
	last window.Step
}

// A timedReading is the time of the database at some moment between two of the process.
type timedReading struct {
	requestedAt, answered time.Duration
	at                    time.Time
}

// see compares a reading with an earlier one, and returns by how much the clock was set since: 0 if it was not.
func (w *stepWatch) see(r timedReading) (by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.base
	if b == nil {
		w.base = &r
		return 0
	}
	least, most := r.requestedAt-b.answered, r.answered-b.requestedAt // between the two
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

// add adds a step to those before it that still matter.
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
