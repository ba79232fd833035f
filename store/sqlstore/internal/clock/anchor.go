package clock

import (
	"sync"
	"time"
)

// An Anchor is the clock that an embedded database uses to count limits and measure deadlines: a start time, plus the time that has passed
// since on the monotonic clock. When the wall clock is set, the two clocks differ. The database stores the difference, so that the next
// process can continue the same clock.
type Anchor struct {
	at      time.Time
	elapsed func() time.Duration

	mu     sync.Mutex
	behind time.Duration // how far this clock is behind the wall clock
}

// What an Anchor needs from the previous process.
const (
	BehindTolerated = 5 * time.Millisecond // two differences this close count as equal
	BehindKept      = time.Second          // from this difference on, the counters of limits must be moved
	BehindNote      = "anchor_behind"      // the row of sequences that stores the difference
)

// NewAnchor returns an Anchor. at is its time when elapsed, the monotonic clock, began. behind is how far it is behind the wall clock.
func NewAnchor(at time.Time, elapsed func() time.Duration, behind time.Duration) *Anchor {
	return &Anchor{at: at, elapsed: elapsed, behind: behind}
}

// Now returns the time of the Anchor.
func (a *Anchor) Now() time.Time { return a.at.Add(a.elapsed()) }

// See compares the anchor with the wall clock. It returns the time of the wall clock, the time of the anchor and, if the wall clock was
// set, the rows that the database must store.
func (a *Anchor) See(wall func() time.Time) (now, counted time.Time, note map[string]int64) {
	before := a.Now()
	now = wall()
	counted = a.Now()
	least, most := now.Sub(counted), now.Sub(before)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.behind < least-BehindTolerated || a.behind > most+BehindTolerated {
		a.behind = most
		note = map[string]int64{BehindNote: int64(most)}
	}
	return now, counted, note
}
