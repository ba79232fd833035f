package engine

import (
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
)

// Counted returns the time on the clock on which limits are counted, and deadlines of calls measured. In an embedded database that clock
// does not jump when the wall clock is set.
func (db *DB) Counted() time.Time {
	if db.clocks.anchor == nil {
		return db.Now()
	}
	return db.clocks.anchor.now()
}

// Now returns the time of the store's clock, on which tokens and revocations expire: that of the database if several processes share it,
// from the last reading and the time since. Times that are compared with those of other processes must be read from it. Limits and
// deadlines use the clock of Counted.
func (db *DB) Now() time.Time { return db.clocks.clock.now().UTC().Round(0) }

// Local returns the time of the process's own clock.
func (db *DB) Local() time.Time { return db.opts.Now() }

// Step returns by how much the clock of the server was recently set.
func (t *Tx) Step() window.Step { return t.w.db.clocks.steps.step() }

// Slots returns how many dispatch slots a call needs under a limit per second.
func (t *Tx) Slots() int64 { return t.w.db.clocks.pace.slots(t.times.requestedAt) }

// Floor returns when the state was last set back to an earlier one, for example by a backup, on the clock on which limits are counted;
// the zero time: never.
func (db *DB) Floor() time.Time { return FromNanos(db.floor.Load()) }

// Now returns the time of the transaction on the store's clock.
func (t *Tx) Now() time.Time { return t.times.now }

// Counted returns the time of the transaction on the clock on which limits are counted.
func (t *Tx) Counted() time.Time { return t.times.counted }

// Asked returns when the process requested these times, on its own clock.
func (t *Tx) Asked() time.Time { return t.times.requestedAt }

// Since returns the time from a reading of the process's clock, when an operation was requested, to a reading of the clock that counts
// limits. It is never too long: that clock was read after the process requested it.
func (t *Tx) Since(requested, at time.Time) time.Duration {
	return max(0, t.times.requestedAt.Sub(requested)) + at.Sub(t.times.counted)
}
