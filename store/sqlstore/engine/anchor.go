package engine

import (
	"context"
	"sync"
	"time"
)

// An anchor is the clock on which an embedded database counts limits and measures deadlines: a moment, and the time since on
// a clock that only moves forward. A wall clock that is set moves away from it. The database keeps by how much, so that the
// next process goes on where this one ends.
type anchor struct {
	at      time.Time
	elapsed func() time.Duration

	mu     sync.Mutex
	behind time.Duration // how far this clock is behind the wall clock
}

const (
	behindTolerated = 5 * time.Millisecond // between two readings that count as equal
	behindKept      = time.Second          // so far behind the wall clock the next process starts as well
	behindNote      = "anchor_behind"      // the row of sequences
)

func (a *anchor) now() time.Time { return a.at.Add(a.elapsed()) }

// see compares the anchor with the wall clock. It returns the time of both and, if the wall clock was set, what the database has
// to keep.
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

// times returns the time of the store, and that on which limits and deadlines are counted.
func (db *DB) times(ctx context.Context) (now, counted time.Time) {
	if db.clocks.anchor == nil {
		now = db.Now()
		return now, now
	}
	now, counted, note := db.clocks.anchor.see(db.Now)
	if note != nil {
		db.Note(note)
	}
	db.writeNotes(ctx)
	return now, counted
}

// Counted returns the time on the clock on which limits are counted, and deadlines of calls measured. In an embedded database
// that clock does not jump when the wall clock is set.
func (db *DB) Counted() time.Time {
	if db.clocks.anchor == nil {
		return db.Now()
	}
	return db.clocks.anchor.now()
}

// A Rebasing moves what was measured on one clock to another.
type Rebasing struct {
	Before, At time.Time // the same moment on both
	Counted    bool      // limits too
	behind     time.Duration
}

// StartAnchor starts the clock on which an embedded database counts: at the present time, but never before last, the beginning of the
// last slot in which something was counted, nor before the database was last set back. If the clock of the process before was behind
// the wall clock, everything that it measured is moved to the wall clock by rebase; what it counted is not older than it was.
func (db *DB) StartAnchor(ctx context.Context, last time.Time, rebase func(context.Context, *Tx, Rebasing) error) error {
	stored, err := db.sequences(ctx, behindNote)
	if err != nil {
		return err
	}
	wall, passed := db.Now(), db.clocks.elapsed()
	behind := time.Duration(stored[behindNote])
	at, moved := wall, max(0, behind)
	if moved < behindKept {
		at, moved = wall.Add(-moved), 0
	}
	if floor := db.Floor(); floor.After(last) {
		last = floor
	}
	if last = last.Add(moved); last.After(at) {
		at = last
	}
	before := wall.Add(-behind) // what the clock of the process before would show
	if now := wall.Sub(at); moved > 0 || (now-behind).Abs() > behindTolerated {
		if err := db.rebase(ctx, Rebasing{Before: before, At: at, Counted: moved > 0, behind: now}, rebase); err != nil {
			return err
		}
		behind = now
	}
	db.clocks.anchor = &anchor{at: at.Add(-passed), elapsed: db.clocks.elapsed, behind: behind}
	return nil
}

// rebase moves what was measured, in one transaction with the note of where the clock is.
func (db *DB) rebase(ctx context.Context, r Rebasing, rebase func(context.Context, *Tx, Rebasing) error) error {
	floor := db.floor.Load()
	if r.Counted && floor != 0 {
		floor += int64(r.At.Sub(r.Before))
	}
	err := db.Alone(ctx, func(ctx context.Context, t *Tx) error {
		if err := rebase(ctx, t, r); err != nil {
			return err
		}
		rows := map[string]int64{behindNote: int64(r.behind)}
		if floor != db.floor.Load() {
			rows["restored"] = floor
		}
		return t.Note(ctx, rows)
	})
	if err == nil {
		db.floor.Store(floor)
	}
	return err
}
