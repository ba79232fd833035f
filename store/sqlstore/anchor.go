package sqlstore

import (
	"context"
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
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
func (s *Store) times(ctx context.Context) (now, counted time.Time) {
	if s.anchor == nil {
		now = s.now()
		return now, now
	}
	now, counted, note := s.anchor.see(s.now)
	if note != nil {
		s.notes.set(note)
	}
	s.writeNotes(ctx)
	return now, counted
}

// Counted returns the time on the clock on which limits are counted, and deadlines of calls measured. In an embedded database
// that clock does not jump when the wall clock is set.
func (s *Store) Counted() time.Time {
	if s.anchor == nil {
		return s.now()
	}
	return s.anchor.now()
}

// startAnchor starts the clock on which an embedded database counts: at the present time, but never before the last slot in which
// something was counted, nor before the database was last set back. If the clock of the process before was behind the wall
// clock, everything that it measured is moved to the wall clock; what it counted is not older than it was.
func (s *Store) startAnchor(ctx context.Context) error {
	var stored int64
	if _, err := s.one(ctx, "SELECT n FROM sequences WHERE name = '"+behindNote+"'", nil, &stored); err != nil {
		return err
	}
	last, err := s.lastCounted(ctx)
	if err != nil {
		return err
	}
	wall, passed := s.now(), s.elapsed()
	behind := time.Duration(stored)
	at, moved := wall, max(0, behind)
	if moved < behindKept {
		at, moved = wall.Add(-moved), 0
	}
	if last = last.Add(moved); last.After(at) {
		at = last
	}
	before := wall.Add(-behind) // what the clock of the process before would show
	if now := wall.Sub(at); moved > 0 || (now-behind).Abs() > behindTolerated {
		if err := s.rebase(ctx, rebasing{before: before, at: at, counted: moved > 0, behind: now}); err != nil {
			return err
		}
		behind = now
	}
	s.anchor = &anchor{at: at.Add(-passed), elapsed: s.elapsed, behind: behind}
	return nil
}

// lastCounted returns the beginning of the last slot in which something was counted, or when the database was last set back if
// that is later.
func (s *Store) lastCounted(ctx context.Context) (last time.Time, err error) {
	last = fromNanos(s.floor.Load())
	err = s.list(ctx, "SELECT period, MAX(slot) FROM counters GROUP BY period", nil, func(scan scan) error {
		var w window.Window
		if err := scan(&w.Period, &w.Slot); err != nil {
			return err
		}
		if at := w.Period.Begins(w.Slot); at.After(last) {
			last = at
		}
		return nil
	})
	return last, err
}

// A rebasing moves what was measured on one clock to another.
type rebasing struct {
	before, at time.Time // the same moment on both
	counted    bool      // limits too
	behind     time.Duration
}

// rebase moves deadlines and, where the new clock is ahead, counters, in one transaction with the note of where the clock is.
func (s *Store) rebase(ctx context.Context, r rebasing) error {
	w := &writer{s: s}
	defer w.drop()
	floor := s.floor.Load()
	o := &op{run: func(ctx context.Context, t *tx) error {
		by := int64(r.at.Sub(r.before))
		for _, query := range []string{
			"UPDATE executions SET deadline = deadline + ? WHERE state = 'held'",
			"UPDATE executions SET forget_at = forget_at + ? WHERE forget_at > 0",
			"UPDATE idempotency SET until = until + ?",
		} {
			if _, err := t.exec(ctx, query, by); err != nil {
				return err
			}
		}
		if r.counted {
			if err := t.rebaseCounters(ctx, r); err != nil {
				return err
			}
			if floor != 0 {
				floor += by
				if err := t.note(ctx, map[string]int64{"restored": floor}); err != nil {
					return err
				}
			}
		}
		return t.note(ctx, map[string]int64{behindNote: int64(r.behind)})
	}}
	if _, err := w.try(ctx, []*op{o}, 1); err != nil {
		return err
	}
	if o.err == nil {
		s.floor.Store(floor)
	}
	return o.err
}

// rebaseCounters moves the slots of rolling periods by as many as the clock moves, rounded up; those of calendar periods only
// where the period that was under way is over.
func (t *tx) rebaseCounters(ctx context.Context, r rebasing) error {
	for _, p := range []limit.Period{limit.Second, limit.Minute, limit.Hour, limit.Day, limit.Week} {
		length := p.SlotLength()
		slots := int64((r.at.Sub(r.before) + length - 1) / length)
		_, err := t.exec(ctx, `UPDATE counters SET slot = slot + ?, dispatch_slot = dispatch_slot + ?,
			frees_at = CASE WHEN frees_at > 0 THEN frees_at + ? ELSE 0 END WHERE period = ?`,
			slots, slots, slots*int64(length), string(p))
		if err != nil {
			return err
		}
	}
	for _, p := range []limit.Period{limit.Month, limit.Year} {
		was, is := p.Slot(r.before), p.Slot(r.at)
		if was == is {
			continue
		}
		if _, err := t.exec(ctx, "UPDATE counters SET slot = ?, frees_at = ? WHERE period = ? AND slot = ?",
			is, nanos(p.Frees(is)), string(p), was); err != nil {
			return err
		}
	}
	return nil
}
