package engine

import (
	"sync"
	"time"
)

// An anchor is the clock that an embedded database uses to count limits and measure deadlines: a start time, plus the time that has passed
// since on the monotonic clock. When the wall clock is set, the two clocks differ. The database stores the difference, so that the next
// process can continue the same clock.
type anchor struct {
	at      time.Time
	elapsed func() time.Duration

	mu     sync.Mutex
	behind time.Duration // how far this clock is behind the wall clock
}

const (
	behindTolerated = 5 * time.Millisecond // two differences this close count as equal
	behindKept      = time.Second          // from this difference on, StartAnchor moves counters
	behindNote      = "anchor_behind"      // the row of sequences that stores the difference
)

func (a *anchor) now() time.Time { return a.at.Add(a.elapsed()) }

// see compares the anchor with the wall clock. It returns the time of the wall clock, the time of the anchor and, if the wall clock was
// set, the rows that the database must store.
func (a *anchor) see(wall func() time.Time) (now, counted time.Time, note map[string]int64) {
	before := a.now()
	now = wall()
	counted = a.now()
	least, most := now.Sub(counted), now.Sub(before)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.behind < least-behindTolerated || a.behind > most+behindTolerated {
		a.behind = most
		note = map[string]int64{behindNote: int64(most)}
	}
	return now, counted, note
}
