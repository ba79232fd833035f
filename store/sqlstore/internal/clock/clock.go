// Package clock reads the clocks of a process and of its database, and detects when one of them is set.
package clock

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
)

// A Source is the clock of the process or the clock of the database. The process reads the clock of the database occasionally, and
// extrapolates it with its own clock.
type Source struct {
	Local func() time.Time // the clock of the process

	read atomic.Pointer[reading]
}

// A reading is the time of another clock at the moment when the process's own clock read local.
type reading struct {
	local, remote time.Time
	off           time.Duration // maximum error at that moment
}

// drift is the maximum rate at which two clocks drift apart.
const drift = 1e-3

// Now returns the time of the clock.
func (c *Source) Now() time.Time {
	now, r := c.Local(), c.read.Load()
	if r == nil {
		return now
	}
	return r.at(now)
}

// at returns the time of the other clock when the process's own clock reads now. The monotonic clock stops while a machine sleeps, and the
// wall clock can be set back, so at uses the clock on which more time has passed.
func (r *reading) at(now time.Time) time.Time {
	return r.remote.Add(max(now.Sub(r.local), now.Round(0).Sub(r.local.Round(0))))
}

// Set records remote, the time of the other clock at some moment between two readings of the process's own clock. It keeps the current
// reading instead if that is more accurate and agrees with the new one within their errors.
func (c *Source) Set(requested, answered, remote time.Time) {
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

const (
	// stepTolerated is how far the clocks may differ, in addition to their drift, before the difference counts as a step.
	stepTolerated = 2 * time.Second
	// stepKept is how long a step can affect limits: the longest rolling period, including its extra slots.
	stepKept = 8 * 24 * time.Hour
	// rebase is the age at which Steps replaces the Reading with which it compares new ones.
	rebase = time.Minute
)

// Steps detects when the clock of the database is set. It compares that clock with a monotonic clock.
type Steps struct {
	mu   sync.Mutex
	base *Reading
	last window.Step
}

// A Reading is the time of the database's clock at some moment between two readings of the process's monotonic clock.
type Reading struct {
	RequestedAt, Answered time.Duration
	At                    time.Time
}

// See compares r with an earlier reading, and returns by how much the clock was set between the two; 0 if it was not set.
func (w *Steps) See(r Reading) (by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.base
	if b == nil {
		w.base = &r
		return 0
	}
	least, most := r.RequestedAt-b.Answered, r.Answered-b.RequestedAt // time elapsed between the two readings
	passed, tolerated := r.At.Sub(b.At), stepTolerated+time.Duration(drift*float64(max(0, most)))
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
		w.add(window.Step{At: r.At, Forward: max(0, by), Back: max(0, -by)})
	}
	return by
}

// add records s, combined with earlier steps that can still affect limits.
func (w *Steps) add(s window.Step) {
	if old := w.last; s.At.Sub(old.At).Abs() < stepKept {
		s.Forward += old.Forward
		s.Back += old.Back
	}
	w.last = s
}

// Restore sets the last step, which an earlier process has recorded.
func (w *Steps) Restore(s window.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = s
}

// Last returns the last step, combined with earlier ones that could still affect limits at that time.
func (w *Steps) Last() window.Step {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}
