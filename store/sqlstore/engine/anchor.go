package engine

import (
	"sync"
	"time"
)

// An anchor is the clock on which an embedded database counts limits and measures deadlines: a time, and the duration since then on the
// monotonic clock. When the wall clock is set, the two differ. The database stores the difference, so that the next process continues on
// the same clock.
type anchor struct {
	at      time.Time
	elapsed func() time.Duration

	mu     sync.Mutex
	behind time.Duration // how far this clock is behind the wall clock
}

const (
	behindTolerated = 5 * time.Millisecond // between two readings that count as equal
	behindKept      = time.Second          // a smaller difference is not stored
	behindNote      = "anchor_behind"      // the row of sequences
)

func (a *anchor) now() time.Time { return a.at.Add(a.elapsed()) }

// see compares the anchor with the wall clock. It returns the time of both and, if the wall clock was set, what the database must store.
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
