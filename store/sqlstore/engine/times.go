package engine

import (
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
)

// Counted returns the time of the clock for limits and the deadlines of calls. In an embedded database, this clock does not jump when the
// wall clock is set.
func (db *DB) Counted() time.Time {
	if db.clocks.anchor == nil {
		return db.Now()
	}
	return db.clocks.anchor.Now()
}

// Now returns the time of the store's clock, which determines when tokens and revocations expire. If several processes share the database,
// this is the clock of the database, extrapolated from its last reading. A time that is compared with times of other processes must come
// from Now. Limits and deadlines use the clock of Counted.
func (db *DB) Now() time.Time { return db.clocks.clock.Now().UTC().Round(0) }

// Local returns the time of the process's own clock.
func (db *DB) Local() time.Time { return db.opts.Now() }

// Step returns when and by how much the clock of the server was recently set.
func (t *Tx) Step() window.Step { return t.w.db.clocks.steps.Last() }

// Slots returns how many dispatch slots a call needs under a limit per second.
func (t *Tx) Slots() int64 { return t.w.db.clocks.pace.Slots(t.times.requestedAt) }

// Now returns the time of the transaction by the store's clock.
func (t *Tx) Now() time.Time { return t.times.now }

// Counted returns the time of the transaction by the clock for limits.
func (t *Tx) Counted() time.Time { return t.times.counted }

// Asked returns when the process requested the times of the transaction, by its own clock.
func (t *Tx) Asked() time.Time { return t.times.requestedAt }

// Since returns the duration from requested, a time of the process's clock, to at, a time of the clock for limits. The result is
// never too long, because the clock for limits was read after the process had requested the reading.
func (t *Tx) Since(requested, at time.Time) time.Duration {
	return max(0, t.times.requestedAt.Sub(requested)) + at.Sub(t.times.counted)
}
