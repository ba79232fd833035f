package engine

import (
	"context"
	"time"
)

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

// seenClock takes a reading of the database's clock, reports a step, and stores it for processes that start later.
func (db *DB) seenClock(ctx context.Context, sent, answered time.Duration, at time.Time) {
	if by := db.clocks.steps.see(timedReading{sent, answered, at}); by != 0 {
		p := db.clocks.steps.step()
		db.Note(map[string]int64{"stepped": Nanos(p.At), "step_forward": int64(p.Forward), "step_back": int64(p.Back)})
		if db.opts.Stepped != nil {
			db.opts.Stepped(by)
		}
	}
	db.writeNotes(ctx)
}

// writeNotes starts writing pending notes. Those that fail stay pending.
func (db *DB) writeNotes(ctx context.Context) {
	if !db.notes.claim() {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if !db.Go(func() {
		rows := db.notes.rows()
		if err := db.Aside(ctx, func(ctx context.Context, t *Tx) error { return t.Note(ctx, rows) }); err != nil {
			rows = nil
		}
		db.notes.done(rows)
	}) {
		db.notes.done(nil)
	}
}
