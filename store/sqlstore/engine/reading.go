package engine

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/internal/clock"
)

// times returns the time of the store's clock, and the time of the clock for limits and deadlines.
func (db *DB) times(ctx context.Context) (now, counted time.Time) {
	if db.clocks.anchor == nil {
		now = db.Now()
		return now, now
	}
	now, counted, note := db.clocks.anchor.See(db.Now)
	if note != nil {
		db.Note(note)
	}
	db.writeNotes(ctx)
	return now, counted
}

// seenClock records a reading of the database's clock. If the clock was set, seenClock reports the step and stores it for processes that
// start later.
func (db *DB) seenClock(ctx context.Context, sent, answered time.Duration, at time.Time) {
	if by := db.clocks.steps.See(clock.Reading{RequestedAt: sent, Answered: answered, At: at}); by != 0 {
		p := db.clocks.steps.Last()
		db.Note(map[string]int64{"stepped": Nanos(p.At), "step_forward": int64(p.Forward), "step_back": int64(p.Back)})
		if db.opts.Stepped != nil {
			db.opts.Stepped(by)
		}
	}
	db.writeNotes(ctx)
}

// writeNotes starts to write the pending notes in the background. If this fails, the notes stay pending.
func (db *DB) writeNotes(ctx context.Context) {
	if !db.notes.Claim() {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if !db.Go(func() {
		rows := db.notes.Rows()
		if err := db.Aside(ctx, func(ctx context.Context, t *Tx) error { return t.Note(ctx, rows) }); err != nil {
			rows = nil
		}
		db.notes.Done(rows)
	}) {
		db.notes.Done(nil)
	}
}
