package engine

import (
	"context"
	"maps"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/internal/clock"
)

// A Rebase describes how to convert stored times from one clock to another.
type Rebase struct {
	Before, At time.Time // the same moment on the old and on the new clock
	Counted    bool      // whether the counters of limits must be moved
	behind     time.Duration
}

// StartAnchor starts the clock of an embedded database. The clock starts at the present time, but not before last, the latest time at which
// a limit was counted, nor before the database was last restored. If the new clock differs from that of the previous process, StartAnchor
// calls rebase in a transaction to convert the stored deadlines. If the previous clock was behind by at least clock.BehindKept, rebase must
// also move the counters. It must not make any count older.
func (db *DB) StartAnchor(ctx context.Context, last time.Time, rebase func(context.Context, *Tx, Rebase)) error {
	stored, err := db.sequences(ctx, clock.BehindNote)
	if err != nil {
		return err
	}
	wall, passed := db.Now(), db.clocks.elapsed()
	behind := time.Duration(stored[clock.BehindNote])
	at, moved := wall, max(0, behind)
	if moved < clock.BehindKept {
		at, moved = wall.Add(-moved), 0
	}
	if floor := db.Floor(); floor.After(last) {
		last = floor
	}
	if last = last.Add(moved); last.After(at) {
		at = last
	}
	before := wall.Add(-behind) // the present time by the clock of the previous process
	if now := wall.Sub(at); moved > 0 || (now-behind).Abs() > clock.BehindTolerated {
		if err := db.rebase(ctx, Rebase{Before: before, At: at, Counted: moved > 0, behind: now}, rebase); err != nil {
			return err
		}
		behind = now
	}
	db.clocks.anchor = clock.NewAnchor(at.Add(-passed), db.clocks.elapsed, behind)
	return nil
}

// rebase calls its argument rebase, and stores how far the new clock is behind the wall clock, in one transaction.
func (db *DB) rebase(ctx context.Context, r Rebase, rebase func(context.Context, *Tx, Rebase)) error {
	before := db.lastRestored()
	restored := before
	if r.Counted {
		restored = before.moved(r.At.Sub(r.Before))
	}
	err := db.Alone(ctx, func(ctx context.Context, t *Tx) error {
		rebase(ctx, t, r)
		rows := map[string]int64{clock.BehindNote: int64(r.behind)}
		if restored != before {
			maps.Copy(rows, restored.rows())
		}
		return t.Note(ctx, rows)
	})
	if err == nil {
		db.restored.Store(&restored)
	}
	return err
}
